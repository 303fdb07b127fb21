import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../../support/agent.ts';
import { beside, expectIntact, startWarm } from '../../support/disk.ts';
import { injected } from '../../support/injected.ts';
import {
  attempt,
  attemptUntilFinal,
  deliveriesOf,
  expectPromises,
  type Lead,
  previewLeads,
} from '../../support/leads.ts';
import type { ServiceProcess } from '../../support/process.ts';
import { canInject, inject } from '../../support/strace.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

if (!canInject) console.log('skipped: a disk that fails needs strace');

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

const ready = async (service: ServiceProcess) => (await call(service, '/readyz', { method: 'GET' })).status;

describe.runIf(canInject)('service on a disk whose writes fail', () => {
  test('stores no claim of a batch if one write of the batch fails, and each retry gets 200', async (context) => {
    const service = await startWarm(upstream);
    let largest = 0;
    // The first batch may have only one claim. Claims that wait for it share later batches.
    for (let when = 3; largest < 2; when += 10) {
      const leads = await previewLeads(service, 20);
      const disk = await inject(service.pid, `pwrite64:error=ENOSPC:when=${when}`);
      await Promise.all(leads.map((lead) => attempt(service, lead)));
      const times = await disk.stop();
      injected(context, 'disk full inside a batch', times);
      expect(times).toBe(1);
      // This reads the rows before any retry.
      const stored = beside(service, (database) => database.prepare('select idempotency_key from executions').all());
      const failed = leads.filter(({ answers }) => answers[0]?.status === 503);
      const unsent = failed.filter((lead) => deliveriesOf(upstream, [lead])[0] === 0);
      const keys = stored.map(({ idempotency_key: key }) => key);
      for (const { key } of unsent) expect(keys).not.toContain(key);
      largest = Math.max(largest, unsent.length);

      await Promise.all(leads.map((lead) => attemptUntilFinal(service, lead)));
      expectPromises(upstream, leads);
      for (const { answers } of leads) expect(answers.at(-1)?.status).toBe(200);
    }
    expectIntact(service);
  });

  test('returns 503 to 20 executions and on /readyz while writes fail, and recovers afterwards', async (context) => {
    const service = await startWarm(upstream);
    const leads = await previewLeads(service, 20);
    const disk = await inject(service.pid, 'pwrite64:error=ENOSPC:when=3+');
    await Promise.all(leads.map((lead) => attempt(service, lead)));
    expect(await ready(service)).toBe(503);
    const statuses = leads.map(({ answers }) => answers[0]?.status);
    injected(context, 'disk full', await disk.stop());
    expect(statuses).toEqual(leads.map(() => 503));
    expect(deliveriesOf(upstream, leads)).toEqual(leads.map(() => 0));
    expect(await ready(service)).toBe(200);
    await Promise.all(leads.map((lead) => attemptUntilFinal(service, lead)));
    expectPromises(upstream, leads);
  });
});

describe.runIf(canInject)('service after an I/O error at the fsync of a commit', () => {
  // The first fsync is that of the claim, the second that of the settle.
  test.for([{ when: 1 }, { when: 2 }])(
    'returns one receipt for each execution after fsync call $when failed and the process was killed',
    async ({ when }, context) => {
      const service = await startWarm(upstream);
      const leads = await previewLeads(service, 5);
      const disk = await inject(service.pid, `fsync:error=EIO:when=${when}`);
      await Promise.all(leads.map((lead) => attempt(service, lead)));
      const times = await disk.stop();
      await service.end();
      injected(context, 'I/O error at the fsync of a commit, then kill -9', times);
      expect(times).toBe(1);
      expect(leads.some(({ answers }) => answers[0]?.status === 503)).toBe(true);

      const reopened = await startWarm(upstream, service.dataDir);
      await Promise.all(leads.map((lead) => attemptUntilFinal(reopened, lead)));
      expectPromises(upstream, leads);
      expectIntact(reopened);
    },
  );
});

/** Number of groups. Each test covers one group, so that it ends soon. */
const GROUPS = 6;

describe.runIf(canInject)('service killed after a failed write or fsync', () => {
  test.for([
    ...Array.from({ length: GROUPS }, (_, at) => ['pwrite64', 'ENOSPC', at + 1, GROUPS] as const),
    ['fsync', 'EIO', 1, 1] as const,
  ])(
    'keeps receipts and database intact after one call of %s fails with %s (from call %i, in steps of %i)',
    async ([call, error, from, stride], context) => {
      const all: Lead[] = [];
      let service = await startWarm(upstream);
      for (let when = from; ; when += stride) {
        const leads = await previewLeads(service, 2);
        all.push(...leads);
        const disk = await inject(service.pid, `${call}:error=${error}:when=${when}`);
        await Promise.all(leads.map((lead) => attempt(service, lead)));
        const times = await disk.stop();
        if (times === 0) break;
        await service.end();
        expectIntact(service);
        service = await startWarm(upstream, service.dataDir);
        injected(context, `kill -9 after each failing ${call}, ${error}`, times);
      }
      // At least two calls failed.
      expect(all.length).toBeGreaterThan(4);
      await Promise.all(all.map((lead) => attemptUntilFinal(service, lead)));
      expectPromises(upstream, all);
      expectIntact(service);
    },
  );
});
