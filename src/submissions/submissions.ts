/**
 * A person's submission, kept before its first byte leaves: why none is lost (beyond §1).
 *
 * 1. Over HTTP the row is committed durably, `sending` and under a lease, and only then the upstream is called.
 *    With the embedded inbox the commit that keeps it is the delivery.
 * 2. An attempt is taken by one conditional update, which gives it a number: the fence. It starts only while
 *    more than the upstream time-out is left of its lease, counted on the monotonic clock from before the
 *    update, and settling names its number. So no row is under way twice, and one that was paused can't send.
 * 3. Every end of an attempt is one update that appends it to the row's list. What was not confirmed waits
 *    for its redelivery (`schedule.ts`), under the same id and with the same body.
 * 4. Whoever finds a lease run out appends the attempt that its sender could not tell of.
 * 5. Where the store fails in a commit, nobody knows its outcome. What is known is kept here and written
 *    before another row is taken. What was sent while the store was away is never sent a second time.
 */
import { below } from '../chance.ts';
import { type Clock, isoTime } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Metrics } from '../operations/metrics.ts';
import type { Storage } from '../storage/database.ts';
import type { AttemptBy, SubmissionRow } from '../storage/schema.ts';
import type { Outcome, Sent, Upstream } from '../upstream/upstream.ts';
import type { Attempt } from './attempts.ts';
import { type Alongside, type Ended, openSettling, type Settling, type Taken } from './settling.ts';
import { EXPIRED_TOGETHER, prepareSubmissionQueries } from './submission-queries.ts';
import { type Attempted, submit } from './submit.ts';

/** What the lease leaves beyond the upstream time-out: sends start within it, answers settle in it. */
export const LEASE_MARGIN_MS = 5_000;

export type SubmissionsOptions = {
  storage: Storage;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, 'countAttempt'>;
  /** Undefined where submissions are not configured: then nothing is attempted. */
  upstream: Upstream | undefined;
  upstreamTimeoutMs: number;
  /** `REDELIVERY`. */
  redelivery: boolean;
  /** Whether what was delivered keeps its content; if not, that goes with the commit that settles. */
  keepsDelivered: boolean;
  /** Draws the schedule's jitter; by default from the machine's randomness. */
  below?(limit: number): number;
  /** Messages that are written in the commit that ends an attempt. */
  alongside?(ended: Ended): readonly Alongside[];
  /** Told what became of an attempt, once that is written. */
  afterwards?(ended: Ended): void;
};

export type Submissions = Pick<Settling, 'settle' | 'settleUnkept' | 'resolve' | 'isBehind'> & {
  options: SubmissionsOptions;
  queries: ReturnType<typeof prepareSubmissionQueries>;
  leaseMs: number;
  /** Takes a row for another attempt; undefined where somebody else was first. */
  take(row: SubmissionRow, by: Exclude<AttemptBy, 'first'>): Promise<Taken | undefined>;
  /** Attempts what was taken; how it ended is still to be settled. Never throws. */
  attempt(taken: Taken, traceparent?: string): Promise<Attempted>;
  /** Ends the attempts of those who died, by leases that have run out; returns how many. */
  settleExpired(): Promise<number>;
  /** Writes what is known and could not be written, if it can be now: before the store is closed. */
  close(): Promise<void>;
};

/** Its functions throw `StorageUnavailable`. */
export function openSubmissions(options: SubmissionsOptions): Submissions {
  const { storage, clock, metrics, upstream, upstreamTimeoutMs, keepsDelivered } = options;
  const leaseMs = upstreamTimeoutMs + LEASE_MARGIN_MS;
  const queries = prepareSubmissionQueries(storage, { leaseMs, keepsDelivered });
  const settling = openSettling({
    storage,
    clock,
    queries,
    redelivery: options.redelivery,
    below: options.below ?? below,
    alongside: options.alongside ?? (() => []),
    afterwards: options.afterwards ?? (() => {}),
  });

  /** Whoever was sending it died: nobody knows whether it arrived. */
  async function settleUnknown(row: SubmissionRow & { overdue_ms: number }): Promise<void> {
    const { attempt_by: by, overdue_ms: overdue, lease_ms: ms } = row;
    // A lease that began before the machine did ended at some time that nobody knows.
    const overdueMs = Math.max(Number(overdue), 0);
    const lasted = ms ?? leaseMs;
    const at = isoTime(clock.now().getTime() - overdueMs - lasted);
    const attempt: Attempt = { at, ms: lasted, outcome: 'unknown', by };
    await settling.settle(
      { ...row, takenAt: 0 },
      { outcome: { kind: 'unknown' }, attempt, overdueMs },
    );
    metrics.countAttempt('unknown', by);
  }

  return {
    ...settling,
    options,
    queries,
    leaseMs,

    async take(row, by) {
      if (settling.isBehind()) await settling.resolve();
      const takenAt = clock.monotonic();
      const { id, attempt_number, status } = row;
      const taken = await storage.write(queries.take[by]({ id, attempt_number, status }));
      if (taken === 0) return undefined;
      return {
        ...row,
        attempt_number: attempt_number + 1,
        attempt_by: by,
        resumed_status: status,
        takenAt,
      };
    },

    async attempt(taken, traceparent) {
      const { id, event, attempt_by: by, takenAt } = taken;
      if (upstream === undefined || upstream.embedded) {
        const outcome: Outcome = { kind: 'confirmed', known: false };
        metrics.countAttempt(outcome.kind, by);
        const at = isoTime(clock.now().getTime());
        return { outcome, attempt: { at, ms: 0, outcome: outcome.kind, by } };
      }
      // What all events of subscribers have in common is what a 409 means.
      const type: Sent['type'] =
        taken.form === 'newsletter' ? 'subscriber.created' : 'lead.created';
      const mayStart = () => clock.monotonic() - takenAt < leaseMs - upstreamTimeoutMs;
      const delivery = { mayStart, ...(traceparent !== undefined && { traceparent }) };
      return await submit({ upstream, clock, metrics }, { id, type, body: event }, delivery, by);
    },

    async settleExpired() {
      // What is known here comes first, also where writing it is about to fail.
      await settling.idle();
      // Another call may be at it, and not know of the last.
      while (settling.isBehind()) await settling.resolve();
      for (let count = 0; ; ) {
        const rows = await storage.read(queries.expired({}));
        let settled = 0;
        for (const row of rows) {
          // Learnt since the rows were looked for: who knows it writes it.
          if (settling.knows(row.id)) continue;
          await settleUnknown(row as SubmissionRow & { overdue_ms: number });
          settled += 1;
        }
        count += settled;
        if (settled < EXPIRED_TOGETHER) return count;
      }
    },

    async close() {
      await settling.idle();
      // Where the store is still away, it is as if the process had died.
      await settling.resolve().catch(() => {});
    },
  };
}
