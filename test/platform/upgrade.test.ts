/** A running process needs none of its program's files, so an upgrade may replace them. */
import { cpSync, rmSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { call, executeAction, previewId } from '../support/agent.ts';
import { type ServiceProcess, startProcess, temporaryFolder } from '../support/process.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const project = resolve(import.meta.dirname, '../..');

let program: string;
let upstream: ProgrammableUpstream;
let service: ServiceProcess;

/** Starts a copy of the program that can be deleted. */
beforeEach(async () => {
  program = temporaryFolder();
  for (const name of ['bin', 'src', 'content', 'package.json']) {
    cpSync(join(project, name), join(program, name), { recursive: true });
  }
  symlinkSync(join(project, 'node_modules'), join(program, 'node_modules'));
  upstream = await startUpstream();
  service = await startProcess({
    shell: `exec "${process.execPath}" "${program}/bin/service.js" start`,
    environment: { UPSTREAM_URL: upstream.url },
  });
});
afterEach(async () => {
  await service.end();
  await upstream.close();
});

const sendLead = () =>
  call(service, '/api/leads', {
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ form: 'newsletter', email: 'ada@example.com' }),
  });

test('the service answers leads, executions and error pages after its program files were deleted', async () => {
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
