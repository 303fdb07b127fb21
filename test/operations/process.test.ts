import { mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { call, executeAction, previewAction, previewId, quote } from '../support/agent.ts';
import { post } from '../support/forms.ts';
import {
  type ProcessOptions,
  type ServiceProcess,
  spawnService,
  startProcess,
  untilItAnswers,
} from '../support/process.ts';
import { startUpstream } from '../support/upstream.ts';
import { openWire } from '../support/wire.ts';

vi.setConfig({ maxConcurrency: 4, testTimeout: 40_000 });

const started: ServiceProcess[] = [];
afterAll(async () => {
  await Promise.all(started.map((service) => service.end()));
});
const kept = (service: ServiceProcess) => {
  started.push(service);
  return service;
};
const start = async (options?: ProcessOptions) => kept(await startProcess(options));
const spawn = async (options?: ProcessOptions) => kept(await spawnService(options));
const folder = () => mkdtempSync(join(tmpdir(), 'service-process-'));

/** What is said where a start fails: sentences, never a stack trace. */
function expectSentences(service: ServiceProcess, count: number): string[] {
  const lines = service.stderr().trimEnd().split('\n');
  expect(lines).toHaveLength(count);
  for (const line of lines) expect(line).toMatch(/^[A-Z].*[.a-z]$/);
  expect(service.stderr()).not.toMatch(/^\s+at |node:|\.ts:\d/m);
  return lines;
}

/** Every file below a folder. */
function filesOf(path: string): string[] {
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

describe.concurrent('SIGTERM', () => {
  test('the request in flight gets its 200, readiness is off, new connections are refused, exit 0', async () => {
    const upstream = await startUpstream();
    const service = await start({ environment: { UPSTREAM_URL: upstream.url } });
    const held = new Promise<() => void>((resolve) => {
      upstream.answer = (response) => resolve(() => response.writeHead(200).end());
    });
    const preview = await previewId(service);
    // Requests pipelined on a busy connection still arrive during a drain.
    const busy = await openWire(service.url);
    const execution = executeAction(service, preview);
    const lead = JSON.stringify({ form: 'homeowner_quote', ...quote });
    busy.write(
      `POST /api/leads HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: ${lead.length}\r\n\r\n${lead}`,
    );
    const release = await held;
    while (upstream.delivered.length < 2) await sleep(10);

    const asked = performance.now();
    service.kill('SIGTERM');
    await expect.poll(() => refusesConnections(service), { timeout: 5_000 }).toBe(true);
    busy.write('GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n');
    release();

    expect(await execution).toMatchObject({ status: 200, body: { ok: true } });
    expect(await service.exited).toEqual({ status: 0, signal: null });
    expect(performance.now() - asked).toBeLessThan(10_000);
    await upstream.close();
  });
});
