import { execFileSync, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../support/agent.ts';
import { beside, expectIntact, startWarm } from '../../support/disk.ts';
import { injected } from '../../support/injected.ts';
import { attempt, attemptUntilFinal, deliveriesOf, expectPromises, previewLeads } from '../../support/leads.ts';
import type { ServiceProcess } from '../../support/process.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const folder = mkdtempSync(join(tmpdir(), 'small-disk-'));
const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=24m', 'tmpfs', folder]).status === 0;
if (!mounted) {
  if (process.env.TEST_SERVICES === 'required') throw new Error('No small disk can be mounted.');
  console.log('skipped: a small disk needs the right to mount one (root)');
}

const MEGABYTE = 1024 * 1024;

describe.runIf(mounted)('service on a small disk', () => {
  let upstream: ProgrammableUpstream;
  let service: ServiceProcess;
  const filler = join(folder, 'filler');
  const fillTo = (leave: number) => {
    const { bavail, bsize } = statfsSync(folder);
    try {
      writeFileSync(filler, Buffer.alloc(bavail * bsize - leave));
    } catch (error) {
      // If the service writes at the same time, the disk fills up a little earlier.
      if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
    }
  };
  const ready = async () => (await call(service, '/readyz', { method: 'GET' })).status;
  beforeAll(async () => {
    upstream = await startUpstream();
    service = await startWarm(upstream, folder);
  });
  afterEach(() => {
    upstream.answer = answering(200);
    rmSync(filler, { force: true });
  });
  afterAll(async () => {
    await service.end();
    await upstream.close();
    execFileSync('umount', [folder]);
    rmSync(folder, { recursive: true });
  });

  test('below 16 MB of free space, refuses claims, settles open executions and leaves room for a checkpoint', async (context) => {
    const [open, refused] = await previewLeads(service, 2);
    if (open === undefined || refused === undefined) return expect.fail();
    upstream.answer = (response) => {
      fillTo(15 * MEGABYTE);
      response.writeHead(200).end();
    };
    expect((await attempt(service, open))?.status).toBe(200);
    injected(context, 'no room for a checkpoint');
    expect([(await attempt(service, refused))?.status, await ready()]).toEqual([503, 503]);
    expect(deliveriesOf(upstream, [refused])).toEqual([0]);
    const [checkpoint] = beside(service, (database) => database.prepare('pragma wal_checkpoint(truncate)').all());
    expect(checkpoint?.busy).toBe(0);
    rmSync(filler);
    expect(await ready()).toBe(200);
    await attemptUntilFinal(service, refused);
    expectPromises(upstream, [open, refused]);
  });

  test('keeps receipts and database intact if the disk fills up while the service sends 20 executions', async (context) => {
    const leads = await previewLeads(service, 20);
    upstream.answer = (response) => {
      upstream.answer = answering(200);
      fillTo(0);
      response.writeHead(200).end();
    };
    await Promise.all(leads.map((lead) => attempt(service, lead)));
    injected(context, 'disk full');
    expect(leads.map(({ answers }) => answers[0]?.status)).toContain(503);
    expect(await ready()).toBe(503);
    rmSync(filler);
    expect(await ready()).toBe(200);
    await Promise.all(leads.map((lead) => attemptUntilFinal(service, lead)));
    expectPromises(upstream, leads);
    expectIntact(service);
  });
});
