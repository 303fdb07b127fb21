import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, executeAction, previewId } from '../support/agent.ts';
import { type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).status === 0;
if (!mounted) console.log('skipped: the disk-full tests need the right to mount a small disk (root)');

describe.runIf(mounted)('service on a full disk', () => {
  let service: Service;
  let upstream: ProgrammableUpstream;
  const filler = join(folder, 'filler');
  const fillTo = (leave: number) => {
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(filler, Buffer.alloc(Math.max(0, bavail * bsize - leave)));
  };
  const ready = async () => (await call(service, '/readyz', { method: 'GET' })).status;
  const intact = () => {
    const database = new DatabaseSync(join(folder, 'service.db'));
    const [row] = database.prepare('pragma integrity_check').all();
    database.close();
    return row?.integrity_check;
  };
  beforeAll(async () => {
    upstream = await startUpstream();
    service = await startService({ folder, environment: { UPSTREAM_URL: upstream.url } });
  });
  afterAll(async () => {
    await service?.close();
    await upstream?.close();
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });

  test('returns 503 for executions and /readyz below 16 MB of free space, and 200 after space is free again', async () => {
    const preview = await previewId(service);
    expect(await ready()).toBe(200);
    fillTo(15 * 1024 * 1024);
    // The service checks the disk at most once in 10 ms.
    await until(async () => (await ready()) === 503);
    expect((await executeAction(service, preview, { key: 'full' })).status).toBe(503);
    rmSync(filler);
    expect([(await executeAction(service, preview, { key: 'full' })).status, await ready()]).toEqual([200, 200]);
    expect(upstream.delivered).toHaveLength(1);
  });

  test('keeps the database intact if the disk fills up during a send, and a retry with free space returns 200', async () => {
    const preview = await previewId(service);
    upstream.answer = (response) => {
      fillTo(0);
      response.writeHead(200).end();
    };
    const answers = await Promise.all([
      executeAction(service, preview, { key: 'last' }),
      executeAction(service, await previewId(service), { key: 'last-2' }),
    ]);
    upstream.answer = answering(200);
    const statuses = answers.map(({ status }) => status);
    expect(statuses.every((status) => [200, 503].includes(status))).toBe(true);
    rmSync(filler);
    const finals = await Promise.all([executeAction(service, preview, { key: 'last' })]);
    expect(finals[0]?.status).toBe(200);
    expect(upstream.delivered.length).toBeLessThanOrEqual(3);
    expect(intact()).toBe('ok');
  });
});
