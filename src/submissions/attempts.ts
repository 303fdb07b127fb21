/** Leases, sends and completes attempts to deliver a submission (reference §10.5, `lead-store.ts`). */
import { type Clock, isoTime } from '../platform/clock.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Change, OpenTransaction, Storage } from '../storage/database.ts';
import type { AttemptBy, SubmissionRow } from '../storage/schema.ts';
import type { Delivery, Outcome, RemoteUpstream, Sent } from '../upstream/upstream.ts';
import type { CompletedAttempt, LeadStore, LeasedAttempt, Message } from './lead-store.ts';
import { type Next, nextOf } from './schedule.ts';
import { EXPIRED_BATCH } from './submission-queries.ts';

/** `unknown`: the process died before it wrote the outcome. */
export type AttemptOutcome = Outcome['kind'] | 'unknown';

export type Attempt = {
  /** Start as ISO 8601 in UTC. */
  at: string;
  /** Duration in milliseconds. */
  ms: number;
  outcome: AttemptOutcome;
  by: AttemptBy;
  /** HTTP status of the upstream's answer. Null without an answer, and in the embedded inbox. */
  http_status: number | null;
};

/** Returns the line of JSON that an update appends to `submissions.attempts`. */
export function attemptLine({ at, ms, outcome, by, http_status }: Attempt): string {
  return `${JSON.stringify({ at, ms, outcome, by, http_status })}\n`;
}

/** Returns the attempts in `submissions.attempts`, oldest first. */
export function parseAttempts(lines: string): Attempt[] {
  return lines
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Attempt);
}

/** An attempt that was sent and is not completed yet. */
export type Attempted = { outcome: Outcome; attempt: Attempt };

/** Sends an event to the upstream. Only this function sends submissions. Never throws. */
export async function submit(
  { upstream, clock, metrics }: { upstream: RemoteUpstream; clock: Clock; metrics: Pick<Metrics, 'countAttempt'> },
  sent: Sent,
  delivery: Delivery,
  by: AttemptBy,
): Promise<Attempted> {
  const at = isoTime(clock.now().getTime());
  const startedAt = clock.monotonic();
  const outcome = await upstream.deliver(sent, delivery);
  metrics.countAttempt(outcome.kind, by);
  const ms = clock.monotonic() - startedAt;
  return { outcome, attempt: { at, ms, outcome: outcome.kind, by, http_status: outcome.status ?? null } };
}

/**
 * Leases a row for another attempt. Returns undefined if another process leased the row first.
 * @throws StorageUnavailable
 */
export async function leaseAttempt(
  { storage, clock, queries, pending }: LeadStore,
  row: SubmissionRow,
  by: Exclude<AttemptBy, 'first'>,
): Promise<LeasedAttempt | undefined> {
  if (pending.hasPendingWrites()) await pending.flush();
  const leasedAt = clock.monotonic();
  const { id, attempt_number, status } = row;
  const leased = await storage.write(queries.lease[by]({ id, attempt_number, status }));
  if (leased === 0) return undefined;
  const resumed_status = status === 'dismissed' ? 'undelivered' : status;
  return { ...row, attempt_number: attempt_number + 1, attempt_by: by, resumed_status, leasedAt };
}

/** Sends a leased row. Never throws. */
export async function sendAttempt(
  { upstream, clock, metrics, leaseMs, upstreamTimeoutMs }: LeadStore,
  { id, form, event, attempt_by: by, leasedAt }: LeasedAttempt,
  traceparent?: string,
): Promise<Attempted> {
  if (upstream === undefined || upstream.embedded) {
    const outcome: Outcome = { kind: 'confirmed', known: false };
    metrics.countAttempt(outcome.kind, by);
    const at = isoTime(clock.now().getTime());
    return { outcome, attempt: { at, ms: 0, outcome: outcome.kind, by, http_status: null } };
  }
  // All events of subscribers get one type here, because a 409 means the same for all of them.
  const type: Sent['type'] = form === 'newsletter' ? 'subscriber.created' : 'lead.created';
  const mayStart = () => clock.monotonic() - leasedAt < leaseMs - upstreamTimeoutMs;
  const delivery = { mayStart, ...(traceparent !== undefined && { traceparent }) };
  return await submit({ upstream, clock, metrics }, { id, type, body: event }, delivery, by);
}

/**
 * Writes the outcome of an attempt and returns what comes next, once the write is durable. `overtaken`: the lease
 * expired and another process ended the attempt, or the row is gone. If the store fails, a flush repeats the write.
 * @throws StorageUnavailable
 */
export async function completeAttempt(
  leads: LeadStore,
  leased: LeasedAttempt,
  { outcome, attempt }: { outcome: CompletedAttempt['outcome']; attempt: Attempt },
  overdueMs = 0,
): Promise<Next | { kind: 'overtaken' }> {
  const next = nextOf(leased, outcome, leads.redelivery, leads.randomInt);
  const change = changeOf(leads, leased, attempt, next, overdueMs);
  const completed = completedOf(leased, outcome, next);
  const changed = await leads.pending.track(leased, async () => {
    const count = await writeWithMessages(leads.storage, change, leads.messages?.(completed) ?? []);
    if (count > 0) leads.onCompleted?.(completed);
    return count;
  });
  return changed > 0 ? next : { kind: 'overtaken' };
}

/**
 * Remembers the outcome of a submission that was sent unstored. If its row appears when `insert` ends, the row is
 * completed, so that the submission is not sent again.
 */
export function completeUnstored(
  leads: LeadStore,
  leased: LeasedAttempt,
  { outcome, attempt }: Attempted,
  insert: Promise<unknown>,
): void {
  const next: Next =
    outcome.kind === 'confirmed' ? { kind: 'delivered' } : { kind: 'undelivered', reason: 'sent_unkept' };
  const change = changeOf(leads, leased, attempt, next);
  const completed = completedOf(leased, outcome, next);
  // This call does not wait for the write, because the write may never find a row.
  leads.onCompleted?.({ ...completed, unstored: true });
  leads.pending.remember(leased, async () => {
    await insert.catch(() => {});
    await writeWithMessages(leads.storage, change, leads.messages?.(completed) ?? []);
  });
}

/**
 * Ends the attempts whose lease has expired, and returns their number.
 * @throws StorageUnavailable
 */
export async function completeExpiredAttempts(leads: LeadStore): Promise<number> {
  const { storage, queries, pending } = leads;
  // First write the outcomes of this process, also of a write under way that is about to fail.
  await pending.idle();
  await pending.flush();
  for (let count = 0; ; ) {
    const rows = await storage.read(queries.expired({}));
    let ended = 0;
    for (const row of rows) {
      // Since the read, this process has received the outcome of the row, and writes the outcome itself.
      if (pending.keys().some(({ id }) => id === row.id)) continue;
      await completeUnknown(leads, row as SubmissionRow & { overdue_ms: number });
      ended += 1;
    }
    count += ended;
    if (ended < EXPIRED_BATCH) return count;
  }
}

/** Ends an attempt whose process has died. */
async function completeUnknown(leads: LeadStore, row: SubmissionRow & { overdue_ms: number }): Promise<void> {
  const { attempt_by: by } = row;
  // The end of a lease from before a restart of the machine is unknown.
  const overdueMs = Math.max(Number(row.overdue_ms), 0);
  const ms = row.lease_ms ?? leads.leaseMs;
  const at = isoTime(leads.clock.now().getTime() - overdueMs - ms);
  const attempt: Attempt = { at, ms, outcome: 'unknown', by, http_status: null };
  const leased = { ...row, leasedAt: 0 };
  await completeAttempt(leads, leased, { outcome: { kind: 'unknown' }, attempt }, overdueMs);
  leads.metrics.countAttempt('unknown', by);
}

/**
 * Writes a change and its messages in one commit. Returns the number of changed rows. If that is 0, it writes no message.
 * @throws StorageUnavailable
 */
export async function writeWithMessages(
  storage: Pick<Storage, 'write'>,
  change: Change,
  messages: readonly Message[],
): Promise<number> {
  if (messages.length === 0) return await storage.write(change);
  return await storage.write(async (tx) => {
    const count = await tx.change(change);
    if (count > 0) await writeMessages(tx, messages);
    return count;
  });
}

export async function writeMessages(tx: OpenTransaction, messages: readonly Message[]): Promise<void> {
  for (const message of messages) {
    if (typeof message === 'function') await message(tx);
    else await tx.change(message);
  }
}

function completedOf(
  { id, form, email, event, subscriber_id, attempt_by: by }: LeasedAttempt,
  outcome: CompletedAttempt['outcome'],
  next: Next,
): CompletedAttempt {
  return { id, form, email, event, subscriber_id, by, outcome, next };
}

function changeOf(
  { queries, upstream }: LeadStore,
  { id, attempt_number }: LeasedAttempt,
  attempt: Attempt,
  next: Next,
  overdueMs = 0,
): Change {
  const fenced = { id, attempt_number, line: attemptLine(attempt) };
  switch (next.kind) {
    case 'delivered':
      return upstream?.embedded ? queries.deliverToInbox(fenced) : queries.deliver(fenced);
    case 'undelivered':
      return queries.markUndelivered({ ...fenced, reason: next.reason });
    case 'waiting':
      return queries.scheduleRetry({ ...fenced, step: next.step, delay_ms: next.delayMs - overdueMs });
    case 'resumed':
      return queries.resume(fenced);
  }
}
