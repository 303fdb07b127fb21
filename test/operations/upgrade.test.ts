/** What a start leaves for later is there in time, although an upgrade takes the files away. */
import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { call, executeAction, previewId } from '../support/agent.ts';
import { type ServiceProcess, startProcess, temporaryFolder } from '../support/process.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const project = resolve(import.meta.dirname, '../..');

/** When that comes is said by these tests, not by how fast the machine is. */
const preload = import.meta.resolve('../support/left-for-later.ts');

let program: string;
let upstream: ProgrammableUpstream;
let service: ServiceProcess;

/** A program of its own, which can be taken away from under its process. */
beforeEach(async () => {
  program = temporaryFolder();
  for (const name of ['bin', 'src', 'content', 'package.json']) {
    cpSync(join(project, name), join(program, name), { recursive: true });
  }
  symlinkSync(join(project, 'node_modules'), join(program, 'node_modules'));
  upstream = await startUpstream();
  service = await startProcess({
    shell: `exec "${process.execPath}" --import "${preload}" "${program}/bin/service.js" start`,
    environment: { UPSTREAM_URL: upstream.url },
  });
});
afterEach(async () => {
  await service.end();
  await upstream.close();
});

async function loadTheRest(): Promise<void> {
  service.kill('SIGWINCH');
  await until(() => service.stdout().includes('what was left for later is done'));
}

const sendLead = () =>
  call(service, '/api/leads', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ form: 'newsletter', email: 'ada@example.com' }),
  });

test('with its program replaced under it the service goes on: leads, executions, pages of errors', async () => {
  await loadTheRest();
  rmSync(program, { recursive: true });
  const sent = await sendLead();
  expect([sent.status, sent.body]).toEqual([200, { ok: true }]);
  const executed = await executeAction(service, await previewId(service));
  expect(executed.status).toBe(200);
  expect(upstream.delivered).toHaveLength(2);
  const missing = await call(service, '/nothing', {
    method: 'GET',
    headers: { accept: 'text/html' },
  });
  expect([missing.status, missing.text.includes('<h1>')]).toEqual([404, true]);
  expect(service.stdout()).not.toContain('"level":"error"');
});

test('taken away before all of it was loaded, nothing is lost without a word', async () => {
  rmSync(program, { recursive: true });
  expect((await sendLead()).status).toBe(502);
  const executed = await executeAction(service, await previewId(service));
  expect([executed.status, executed.body.receipt.status]).toEqual([502, 'failed']);
  expect(upstream.delivered).toEqual([]);
  await loadTheRest();
  expect(service.stdout()).toContain('left for after the start could not be loaded');
  expect((await call(service, '/healthz', { method: 'GET' })).status).toBe(200);
});
