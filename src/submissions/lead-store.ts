/**
 * Stores and delivers browser submissions. No stored submission is lost (reference §10.6).
 *
 * 1. Store first. The row commits as `sending`, with a lease, before the upstream is called (`persist.ts`). With the
 *    embedded inbox, the commit is the delivery (`deliver.ts`).
 * 2. Fence. One conditional update starts an attempt and sets its lease and number (`attempts.ts`). Sending requires
 *    more than the upstream timeout on the lease (monotonic clock, from before the update), and completing requires
 *    the number. So a row has one attempt at a time, and a process that was paused cannot send.
 * 3. Retry. The update that ends an attempt appends it to the row. An unconfirmed submission waits for its next
 *    attempt (`schedule.ts`), with the same id and body.
 * 4. Crash. A process that finds an expired lease records the attempt as `unknown`.
 * 5. Unknown commits. If the store fails in a commit, the process remembers the outcome (`pending`) and writes it
 *    before it leases another row. A submission that was sent unstored is never sent again.
 */
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Change, OpenTransaction, Storage } from '../storage/database.ts';
import { openPendingWrites, type PendingWrites } from '../storage/pending-writes.ts';
import type { AttemptBy, SubmissionRow } from '../storage/schema.ts';
import type { Outcome, Upstream } from '../upstream/upstream.ts';
import type { Next } from './schedule.ts';
import { prepareSubmissionQueries } from './submission-queries.ts';

/** The part of a lease beyond the upstream timeout, to start a send and to write its outcome. */
export const LEASE_MARGIN_MS = 5_000;

/** A row with a current attempt. `leasedAt` is the time right before the lease, in milliseconds, monotonic clock. */
export type LeasedAttempt = Pick<
  SubmissionRow,
  'id' | 'form' | 'email' | 'event' | 'subscriber_id' | 'attempt_number' | 'attempt_by' | 'resumed_status' | 'step'
> & { leasedAt: number };

/** An attempt that has ended, and what comes next. */
export type CompletedAttempt = Pick<SubmissionRow, 'id' | 'form' | 'email' | 'event' | 'subscriber_id'> & {
  by: AttemptBy;
  outcome: Outcome | { kind: 'unknown' };
  next: Next;
  /** The submission was sent while the store was unavailable. */
  unstored?: true;
};

/** A change that queues a message in the commit that ends an attempt. A function can read other rows first. */
export type Message = Change | ((tx: OpenTransaction) => Promise<void>);

export type LeadStoreOptions = {
  storage: Storage;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, 'countAttempt'>;
  /** Undefined if submissions are not configured. Then nothing is attempted. */
  upstream: Upstream | undefined;
  upstreamTimeoutMs: number;
  /** True if the service retries unconfirmed submissions (setting `REDELIVERY`). */
  redelivery: boolean;
  /** False if the content of a row is deleted in the commit that marks it as delivered. */
  keepsDelivered: boolean;
  /** Draws the jitter of the schedule (default: from the machine's randomness). */
  randomInt?: ((limit: number) => number) | undefined;
  messages?: ((completed: CompletedAttempt) => readonly Message[]) | undefined;
  /** Called after the commit that ends an attempt, and after the send of an unstored submission. */
  onCompleted?: ((completed: CompletedAttempt) => void) | undefined;
};

export type LeadStore = LeadStoreOptions & {
  queries: ReturnType<typeof prepareSubmissionQueries>;
  leaseMs: number;
  /** Outcomes that are not written yet. */
  pending: PendingWrites<LeasedAttempt>;
};

/** The result of a delivery, for the answer to the person. */
export type Delivered = {
  /** The id of the submission, stored or not. */
  reference: string;
  outcome: CompletedAttempt['outcome'];
  /** `queued`: the service retries. `failed`: only the operator can retry. `notPersisted`: the store did not answer. */
  status: 'delivered' | 'queued' | 'failed' | 'notPersisted';
  /** Time of the upstream's answer on the monotonic clock. */
  answeredAt: number;
};

export function openLeadStore(options: LeadStoreOptions): LeadStore {
  const leaseMs = options.upstreamTimeoutMs + LEASE_MARGIN_MS;
  const queries = prepareSubmissionQueries(options.storage, leaseMs, options.keepsDelivered);
  return { ...options, queries, leaseMs, pending: openPendingWrites() };
}

/** Writes the outcomes that wait. If a write fails, other processes find the expired leases. */
export async function closeLeadStore({ pending }: LeadStore): Promise<void> {
  await pending.idle();
  await pending.flush().catch(() => {});
}
