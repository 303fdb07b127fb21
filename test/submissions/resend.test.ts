import { expect, test } from 'vitest';
import type { Log } from '../../src/platform/log.ts';
import { noMetrics } from '../../src/platform/metrics.ts';
import { openLeadStore } from '../../src/submissions/lead-store.ts';
import { type Resent, requestResend, resent } from '../../src/submissions/operator-changes.ts';
import { openRedelivery } from '../../src/submissions/redelivery.ts';
import type { Outcome, Sent } from '../../src/upstream/upstream.ts';
import { testClock } from '../support/clock.ts';
import { databases } from '../support/databases.ts';
import { allRows, keepRows, submissionRow } from '../support/submissions.ts';

test.each(databases.flatMap(([name, create]) => [[name, create, true] as const, [name, create, false] as const]))(
  'the running service sends marked submissions on %s, and the operator gets the outcomes',
  async (_name, create, redelivery) => {
    const database = await create();
    const clock = testClock();
    const storage = await database.open(clock);
    const outcomes: Outcome[] = [
      { kind: 'confirmed', known: false },
      { kind: 'unconfirmed', reason: 'away' },
      { kind: 'rejected', status: 422 },
    ];
    const sent: Sent[] = [];
    const log = { info: () => {}, error: expect.fail } as unknown as Log;
    const submissions = openLeadStore({
      storage,
      clock,
      log,
      metrics: noMetrics,
      upstream: {
        embedded: false,
        deliver: async (one) => {
          sent.push(one);
          return outcomes.shift() ?? expect.fail('it was sent too often');
        },
        close: async () => {},
      },
      upstreamTimeoutMs: 1_000,
      redelivery,
      keepsDelivered: true,
    });
    const { resend } = openRedelivery(submissions);
    const next = Date.parse('2100-01-01T00:00:00.000Z');
    const rows = [
      submissionRow({ status: 'undelivered', reason: 'attempts_used_up' }),
      submissionRow({ status: 'delivered', attempts: [{}] }),
      submissionRow({ status: 'waiting', step: 3, next_attempt_ms: next }),
    ];
    await keepRows(storage, rows);
    const asked = [];
    for (const { id } of rows) {
      const answer = await storage.write((tx) => requestResend(storage, tx, id));
      if (answer.kind === 'asked') asked.push(answer.asked);
      clock.advance(1);
    }
    const looks = { monotonic: clock.monotonic, sleep: () => resend.run() };
    const seen: Resent[] = [];
    for await (const one of resent(storage, looks, asked)) seen.push(one);

    const [used = '', delivered = '', waiting = ''] = rows.map(({ id }) => id);
    expect(seen).toEqual([
      { id: used, kind: 'ended', outcome: 'confirmed' },
      { id: delivered, kind: 'ended', outcome: 'unconfirmed' },
      { id: waiting, kind: 'ended', outcome: 'rejected' },
    ]);
    expect(sent.map(({ id, body }) => [id, body])).toEqual(rows.map(({ id, event }) => [id, event]));
    const after = new Map((await allRows(storage)).map((row) => [row.id, row]));
    expect(after.get(used)).toMatchObject({ status: 'delivered', reason: null });
    expect(after.get(delivered)).toMatchObject({ status: 'delivered' });
    expect(after.get(waiting)).toMatchObject({ status: 'undelivered', reason: 'rejected' });
    await resend.close();
    await storage.close();
    await database.remove();
  },
);
