/** Delivers a browser's submission: stores it, makes the first attempt, and returns the result (reference §10.6). */
import { isoTime } from '../platform/clock.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import {
  attemptLine,
  completeAttempt,
  completeUnstored,
  leaseAttempt,
  parseAttempts,
  sendAttempt,
  writeMessages,
} from './attempts.ts';
import type { CompletedAttempt, Delivered, LeadStore, LeasedAttempt } from './lead-store.ts';
import { firstAttempt, type Join, persist, RETRY_MS, STORE_WAIT_MS, within } from './persist.ts';
import { nextOf } from './schedule.ts';
import type { NewSubmission } from './submission.ts';

/** Interval of reads until another process has ended its attempt. */
const READ_EVERY_MS = 200;

const DELIVERED = { outcome: { kind: 'confirmed', known: false }, status: 'delivered' } as const;

/**
 * Stores a submission, makes the first attempt and returns the result. If the store fails for two seconds, sends the
 * submission unstored. Without `join` it never throws.
 * @throws StorageUnavailable if a subscription can't be stored (reference §9.2)
 */
export async function deliver(
  leads: LeadStore,
  submission: NewSubmission,
  traceparent: string | undefined,
  join?: Join,
): Promise<Delivered> {
  if (leads.upstream?.embedded) return await deliverToInbox(leads, submission, join);
  for (;;) {
    const persisted = await persist(leads, submission, join);
    if (persisted.kind === 'stored') return await sendStored(leads, persisted.leased, traceparent);
    if (persisted.kind === 'notPersisted') {
      if (join !== undefined) throw new StorageUnavailable('A subscription could not be stored.');
      leads.log.error({ submissionId: submission.id }, 'submission forwarded without being stored');
      return await sendUnstored(leads, submission, persisted.insert, traceparent);
    }
    const { row } = persisted;
    const hasEnded = row.status !== 'sending' && row.status !== 'waiting';
    if (row.id === submission.id && hasEnded) {
      // This submission has ended already. For example, an operator dismissed it while this process was stopped.
      return { reference: row.id, answeredAt: leads.clock.monotonic(), ...resultOf(row) };
    }
    const delivered = await sendAgain(leads, row, traceparent, join);
    if (delivered !== undefined) return delivered;
  }
}

/** Sends a stored submission. Returns at once if the submission has arrived, or else once the outcome is written. */
async function sendStored(
  leads: LeadStore,
  leased: LeasedAttempt,
  traceparent: string | undefined,
): Promise<Delivered> {
  const { clock, log, redelivery } = leads;
  const attempted = await sendAttempt(leads, leased, traceparent);
  const { outcome } = attempted;
  const answer = { reference: leased.id, outcome, answeredAt: clock.monotonic() };
  const completing = completeAttempt(leads, leased, attempted).catch((error: unknown) => {
    log.error({ submissionId: leased.id, err: error }, 'attempt outcome not stored yet');
  });
  if (outcome.kind === 'confirmed') {
    if (leased.form === 'newsletter') await within(clock, completing);
    return { ...answer, status: 'delivered' };
  }
  const completed = await within(clock, completing);
  const isOvertaken = completed?.kind === 'overtaken';
  if (isOvertaken) {
    const row = await within(clock, read(leads, leased.id));
    if (row !== undefined) return { ...answer, ...resultOf(row, outcome) };
  }
  // An outcome that is not written yet decides in advance. A process that overtakes an attempt ends it as unknown.
  const written = isOvertaken ? ({ kind: 'unknown' } as const) : outcome;
  const next = nextOf(leased, written, redelivery);
  return { ...answer, status: next.kind === 'undelivered' ? 'failed' : 'queued' };
}

/**
 * Attempts the row of an earlier, equal submission at once, or waits for its attempt under way. Returns undefined if
 * the row has ended meanwhile, or is gone.
 */
async function sendAgain(
  leads: LeadStore,
  row: SubmissionRow,
  traceparent: string | undefined,
  join: Join | undefined,
): Promise<Delivered | undefined> {
  try {
    if (join !== undefined) await leads.storage.write(join);
    if (row.status === 'sending') return await waitForAttempt(leads, row);
    const leased = await leaseAttempt(leads, row, 'person');
    return leased && (await sendStored(leads, leased, traceparent));
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    // At the last read of the row, the submission was not delivered yet.
    const answeredAt = leads.clock.monotonic();
    return { reference: row.id, outcome: { kind: 'unknown' }, status: 'queued', answeredAt };
  }
}

/** Waits until the attempt under way has ended. Throws `StorageUnavailable`. */
async function waitForAttempt(leads: LeadStore, { id, attempt_number }: SubmissionRow): Promise<Delivered | undefined> {
  const { clock } = leads;
  for (;;) {
    await clock.sleep(READ_EVERY_MS);
    const now = await read(leads, id);
    if (now === undefined) return undefined;
    if (now.status === 'sending' && now.attempt_number === attempt_number) continue;
    const made = parseAttempts(now.attempts)[attempt_number - 1];
    const result = made?.outcome === 'confirmed' ? DELIVERED : resultOf(now);
    return { reference: id, answeredAt: clock.monotonic(), ...result };
  }
}

/** Reads a row, and retries for two seconds. Throws `StorageUnavailable`. */
async function read({ storage, clock, queries }: LeadStore, id: string): Promise<SubmissionRow | undefined> {
  const startedAt = clock.monotonic();
  for (;;) {
    try {
      const [row] = await storage.read(queries.byId({ id }));
      return row;
    } catch (error) {
      const isOver = clock.monotonic() - startedAt >= STORE_WAIT_MS;
      if (isOver || !(error instanceof StorageUnavailable)) throw error;
      await clock.sleep(RETRY_MS);
    }
  }
}

/** Returns the result of a row after an attempt that was not confirmed. */
function resultOf(
  { status }: SubmissionRow,
  outcome: Delivered['outcome'] = { kind: 'unknown' },
): Pick<Delivered, 'outcome' | 'status'> {
  if (status === 'delivered') return DELIVERED;
  const hasFailed = status === 'undelivered' || status === 'dismissed';
  return { outcome, status: hasFailed ? 'failed' : 'queued' };
}

/** Sends a submission without storing it. It is never sent again (reference §10.11). */
async function sendUnstored(
  leads: LeadStore,
  submission: NewSubmission,
  insert: Promise<unknown> | undefined,
  traceparent: string | undefined,
): Promise<Delivered> {
  const { clock } = leads;
  const leased = firstAttempt(submission, clock.monotonic());
  const attempted = await sendAttempt(leads, leased, traceparent);
  completeUnstored(leads, leased, attempted, insert ?? Promise.resolve());
  // If the row of the submission appears and this process dies, another process sends the submission.
  const mayArrive = insert !== undefined && 'unsent' in attempted.outcome;
  const outcome = mayArrive ? ({ kind: 'unknown' } as const) : attempted.outcome;
  const answeredAt = clock.monotonic();
  return { reference: submission.id, outcome, status: 'notPersisted', answeredAt };
}

type Stored = CompletedAttempt & { outcome: { kind: 'confirmed'; known: boolean } };

/**
 * Delivers to the embedded inbox: the commit that stores a submission is its delivery (reference §10.8).
 * @throws StorageUnavailable if the store fails and `join` is given
 */
async function deliverToInbox(leads: LeadStore, submission: NewSubmission, join?: Join): Promise<Delivered> {
  const { clock, metrics } = leads;
  const reference = submission.id;
  const answeredAt = clock.monotonic();
  try {
    const stored = await storeDelivered(leads, submission, join);
    metrics.countAttempt('confirmed', 'first');
    if (!stored.outcome.known) leads.onCompleted?.(stored);
    return { reference, outcome: stored.outcome, status: 'delivered', answeredAt };
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    metrics.countAttempt('unconfirmed', 'first');
    if (join !== undefined) throw error;
    const outcome = { kind: 'unconfirmed', reason: 'The inbox could not store the submission.' } as const;
    return { reference, outcome, status: 'notPersisted', answeredAt: clock.monotonic() };
  }
}

/** Inserts a submission as delivered. Inserts no row for a subscriber who already has a row. */
async function storeDelivered(
  { storage, clock, queries, messages = () => [] }: LeadStore,
  submission: NewSubmission,
  join: Join | undefined,
): Promise<Stored> {
  const at = isoTime(clock.now().getTime());
  const line = attemptLine({ at, ms: 0, outcome: 'confirmed', by: 'first', http_status: null });
  const change = (of: NewSubmission) =>
    queries.insertDelivered({ ...of, subscriber: of.form === 'newsletter' ? of.email : null, line });
  const completedOf = ({ id, form, email, event, subscriber_id }: NewSubmission, inserted: number): Stored => ({
    ...{ id, form, email, event, subscriber_id },
    by: 'first',
    // No row is inserted if the subscriber is on the list already.
    outcome: { kind: 'confirmed', known: inserted === 0 },
    next: { kind: 'delivered' },
  });
  // Most leads need one statement, and one statement needs no transaction.
  if (join === undefined && messages(completedOf(submission, 1)).length === 0) {
    return completedOf(submission, await storage.write(change(submission)));
  }
  return await storage.write(async (tx) => {
    const joined = join === undefined ? submission : await join(tx);
    const completed = completedOf(joined, await tx.change(change(joined)));
    await writeMessages(tx, messages(completed));
    return completed;
  });
}
