/**
 * What an instance of the version before still writes during a roll (beyond §1, "Upgrade"). It stays in its
 * table, too, so that nothing is missing from an older instance; erasure deletes from both.
 */
import type { ExpressionBuilder } from 'kysely';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { InboxRow, Schema, SubmissionRow } from '../storage/schema.ts';
import type { Event } from '../upstream/upstream.ts';
import { lookedFor } from './submission.ts';

/** By so much the clocks of instances may differ. */
const OVERLAP_MS = 86_400_000;

/**
 * Takes the store and how many rows are a batch; returns what copies one and says how many they were. Only
 * what came later than the newest that is copied already is looked at, or a day before it.
 */
export async function copyLegacyInbox(
  storage: Storage,
  rows: number,
): Promise<() => Promise<number>> {
  const [newest] = await storage.read((db) =>
    db
      .selectFrom('inbox')
      .select('received_at')
      .where(isCopied)
      .orderBy('received_at', 'desc')
      .limit(1),
  );
  const from = newest === undefined ? '' : before(newest.received_at);
  return () => storage.write((tx) => copyBatch(storage, tx, from, rows));
}

/** A row that is being erased is passed over, and one that is copied is locked until its copy is there. */
async function copyBatch(
  { dialect }: Storage,
  tx: OpenTransaction,
  from: string,
  limit: number,
): Promise<number> {
  const missing = await tx
    .selectFrom('inbox')
    .selectAll()
    .where('received_at', '>=', from)
    .where((inbox) => inbox.not(isCopied(inbox)))
    .where((inbox) => inbox.not(isSubscribed(inbox)))
    .orderBy('received_at')
    .limit(limit)
    .$call(dialect.skipLocked)
    .execute();
  if (missing.length === 0) return 0;
  await tx
    .insertInto('submissions')
    .values(missing.map(submissionOf))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
  return missing.length;
}

function isCopied(inbox: ExpressionBuilder<Schema, 'inbox'>) {
  return inbox.exists(
    inbox.selectFrom('submissions').select('id').whereRef('submissions.id', '=', 'inbox.event_id'),
  );
}

/** One row is kept for a subscriber, under the id that came first. */
function isSubscribed(inbox: ExpressionBuilder<Schema, 'inbox'>) {
  return inbox.exists(
    inbox
      .selectFrom('submissions')
      .select('id')
      .whereRef('submissions.subscriber', '=', 'inbox.email')
      .where('inbox.type', '=', 'subscriber.created'),
  );
}

function before(receivedAt: string): string {
  return new Date(Date.parse(receivedAt) - OVERLAP_MS).toISOString();
}

function submissionOf(row: InboxRow): SubmissionRow {
  const event = JSON.parse(row.event) as Event;
  const receivedMs = Date.parse(row.received_at);
  return {
    id: row.event_id,
    form: row.form,
    origin: event.data?.origin ?? 'browser',
    email: row.email,
    telephone: lookedFor(event.data?.fields ?? {}).telephone,
    subscriber: row.type === 'subscriber.created' ? row.email : null,
    subscriber_id: null,
    received_ms: receivedMs,
    event: row.event,
    disclosures: null,
    fields_digest: null,
    status: 'delivered',
    status_since_ms: receivedMs,
    reason: null,
    stored_here: 1,
    attempts: '',
    attempt_number: 0,
    attempt_by: 'first',
    resumed_status: null,
    lease_started_ms: null,
    lease_ms: null,
    step: null,
    next_attempt_ms: null,
    resend_asked_ms: null,
  };
}
