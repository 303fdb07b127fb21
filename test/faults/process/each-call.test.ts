import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { beside, expectIntact, startWarm } from '../../support/disk.ts';
import { injected } from '../../support/injected.ts';
import { attempt, attemptUntilFinal, expectPromises, type Lead, previewLeads } from '../../support/leads.ts';
import type { ServiceProcess } from '../../support/process.ts';
import { canInject, inject } from '../../support/strace.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

if (!canInject) console.log('skipped: I/O calls that fail one by one need strace');

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

const seed = Number(process.env.PROPERTY_SEED ?? 0);

const PADDING = 'x'.repeat(4_000);

/** Writes as another process, so that the service reads its pages again. Enough rows make it checkpoint. */
function writeBeside(service: ServiceProcess, rows: number): void {
  beside(service, (database) => {
    database.exec('pragma wal_autocheckpoint = 0; begin');
    const insert = database.prepare("insert into operator_audit values (hex(randomblob(8)), '', 'jo', 'padding', ?)");
    for (let row = 0; row < rows; row += 1) insert.run(PADDING);
    database.exec('commit');
  });
}

/** Executes the leads at once while one I/O call fails. Returns the number of failed calls. */
async function attemptFailing(service: ServiceProcess, leads: Lead[], fault: string) {
  const disk = await inject(service.pid, fault);
  await Promise.all(leads.map((lead) => attempt(service, lead)));
  return await disk.stop();
}

/** With a seed, the calls alternate between the two errors of a write. Without a seed, each call gets both. */
const turns = process.env.PROPERTY_SEED === undefined ? 1 : 2;

/** System call, its error, the stride between failing calls, and the offset of the first one. */
const faults = [
  ['pwrite64', 'ENOSPC', turns, 0],
  ['pwrite64', 'EIO', turns, 1],
  ['fsync', 'EIO', 1, 0],
  ['pread64', 'EIO', 2, 0],
  ['pread64', 'EIO', 2, 1],
] as const;

/** Stride between failing calls of a checkpoint, which has thousands of similar calls. The seed chooses the offset. */
const SAMPLED = 291;

/** Returns the events in the embedded inbox, in the form of deliveries to an upstream. */
const inboxOf = (service: ServiceProcess) => ({
  delivered: beside(service, (database) => database.prepare('select event from submissions').all()).map(
    ({ event }) => ({ event: JSON.parse(String(event)) }),
  ),
});

type Destination = Pick<ProgrammableUpstream, 'delivered'> | ReturnType<typeof inboxOf>;

const destinations: [name: string, url: () => string, of: (from: ServiceProcess) => Destination][] = [
  ['an upstream', () => upstream.url, () => upstream],
  ['the embedded inbox', () => 'inbox:', inboxOf],
];

describe.runIf(canInject).for(destinations)(
  'executions with %s as destination, while one I/O call after another fails',
  ([, url, destination]) => {
    let service: ServiceProcess;
    beforeAll(async () => {
      service = await startWarm({ url: url() });
    });
    afterAll(() => service.end());

    /**
     * Fails the first call, then every `stride`th call from a seeded one, until a run has no such call. Returns the number
     * of failed calls.
     */
    async function failEach(call: string, error: string, stride: number, padding: number, offset = 0) {
      const from = 1 + ((seed + offset) % stride);
      const calls = from === 1 ? [] : [1];
      for (let times = 0; ; times += 1) {
        const when = calls[times] ?? from + (times - calls.length) * stride;
        writeBeside(service, padding);
        const leads = await previewLeads(service, 3);
        const failed = await attemptFailing(service, leads, `${call}:error=${error}:when=${when}`);
        await Promise.all(leads.map((lead) => attemptUntilFinal(service, lead)));
        expectPromises(destination(service), leads);
        if (failed === 0) return times;
      }
    }

    test.for(faults)(
      'get one receipt and at most one delivery if %s fails with %s (every %i calls), with an intact database',
      async ([call, error, stride, offset], context) => {
        const times = await failEach(call, error, stride, 1, offset);
        injected(context, `each I/O call failing once: ${call}, ${error}`, times);
        // A claim and a settle have at least one call each.
        expect(times).toBeGreaterThanOrEqual(2);
        expectIntact(service);
      },
    );

    test.for([
      ['pwrite64', 'ENOSPC', SAMPLED],
      ['fsync', 'EIO', 1],
      ['pread64', 'EIO', SAMPLED],
    ] as const)(
      'get one receipt and at most one delivery if %s fails with %s in a checkpoint, with an intact database',
      async ([call, error, stride], context) => {
        const times = await failEach(call, error, stride, 1_100);
        injected(context, `each I/O call of a checkpoint failing once: ${call}, ${error}`, times);
        expect(times).toBeGreaterThanOrEqual(3);
        expectIntact(service);
      },
    );
  },
);

describe.runIf(canInject)('execution with a failing lock call of SQLite', () => {
  // These calls of a claim lock for reading, lock for writing, and unlock.
  test.for([4, 5, 7])(
    'gets one receipt after retries if lock call %i fails, and a later execution gets 200',
    async (when, context) => {
      const service = await startWarm(upstream);
      const leads = await previewLeads(service, 1);
      const times = await attemptFailing(service, leads, `fcntl:error=EIO:when=${when}`);
      injected(context, 'each I/O call failing once: fcntl, EIO', times);
      expect(times).toBe(1);
      await Promise.all(leads.map((lead) => attemptUntilFinal(service, lead)));
      expectPromises(upstream, leads);
      const [next] = await previewLeads(service, 1);
      await attemptUntilFinal(service, next ?? expect.fail());
      expect(next?.answers.at(-1)?.status).toBe(200);
      await service.end();
      expectIntact(service);
    },
  );
});
