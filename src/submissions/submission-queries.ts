/** Statements of browsers' submissions. `lead-store.ts` explains them. */
import { type Expression, type QueryCreator, sql } from 'kysely';
import type { Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/queries.ts';
import type { AttemptBy, Schema, SubmissionReason, SubmissionRow, SubmissionStatus } from '../storage/schema.ts';
import type { NewSubmission } from './submission.ts';

/** Number of rows with an expired lease in one read. */
export const EXPIRED_BATCH = 100;

/** Columns of a new row. */
const NEW_ROW = {
  origin: 'browser',
  client: null,
  progress: 'new',
  reason: null,
  attempts: '',
  attempt_by: 'first',
  attempt_number: 1,
  resumed_status: null,
  step: null,
  next_attempt_ms: null,
  resend_asked_ms: null,
} as const;

/** Returns the columns of a row whose content is deleted: sender and fields (reference §19.6). */
export function redactedColumns({ dialect }: Pick<Storage, 'dialect'>) {
  return {
    event: dialect.withoutFields,
    email: null,
    search_text: null,
    note: null,
    subscriber: null,
    fields_digest: null,
    disclosures: null,
  };
}

/**
 * Returns `value` for a row under way that the operator has marked as spam (`progress.ts`), or else `other`. The end of
 * the attempt dismisses such a row, unless the attempt was confirmed.
 */
export function ifSpam<T extends string | number | null>(value: NoInfer<T>, other: Expression<T>) {
  return sql<T>`case when reason = 'spam' then ${sql.lit(value)} else ${other} end`;
}

function ifDismissed<T extends string | null>(value: NoInfer<T>, other: Expression<T>) {
  return sql<T>`case when status = 'dismissed' then ${sql.lit(value)} else ${other} end`;
}

/** Columns of a row as it was read, before the lease. */
type Leasable = Pick<SubmissionRow, 'id' | 'attempt_number' | 'status'>;

/** A submission of the embedded inbox, and the line of its only attempt. */
type Stored = NewSubmission & { subscriber: string | null; line: string };

/** The attempt to end, and the line to append. */
type Fenced = { id: string; attempt_number: number; line: string };

/** Prepares the statements. Without `keepsDelivered`, a delivery deletes the content. */
export function prepareSubmissionQueries(storage: Storage, leaseMs: number, keepsDelivered: boolean) {
  const { dialect } = storage;
  const now = () => ({ received_ms: dialect.wallClock, status_since_ms: dialect.wallClock });
  const lease = () => ({ lease_started_ms: dialect.leaseClock, lease_ms: leaseMs });

  const leaseBy = (by: AttemptBy) =>
    prepareChange(storage, (db, of: Leasable) =>
      db
        .updateTable('submissions')
        .set((row) => ({
          status: 'sending',
          resumed_status: ifDismissed<SubmissionStatus>('undelivered', row.ref('status')),
          // The resend of a dismissed row ends the dismissal.
          reason: ifDismissed<SubmissionReason | null>(null, row.ref('reason')),
          attempt_number: row('attempt_number', '+', 1),
          attempt_by: by,
          ...lease(),
          ...(by === 'operator' && { resend_asked_ms: null }),
        }))
        .where('id', '=', of.id)
        .where('attempt_number', '=', of.attempt_number)
        .where('status', '=', of.status),
    );

  /** Ends the current attempt once. The number of the attempt identifies it. */
  const ending = (db: QueryCreator<Schema>, of: Fenced) =>
    db
      .updateTable('submissions')
      .set((row) => ({ attempts: row('attempts', '||', of.line) }))
      .where('id', '=', of.id)
      .where('status', '=', 'sending')
      .where('attempt_number', '=', of.attempt_number);

  const ended = () => ({
    status_since_ms: dialect.wallClock,
    step: null,
    next_attempt_ms: null,
    resend_asked_ms: null,
  });

  return {
    /** Inserts a row with the lease of its first attempt. Changes nothing if the id exists. */
    insert: prepareChange(storage, (db, of: NewSubmission) =>
      db
        .insertInto('submissions')
        .values({ ...NEW_ROW, ...of, ...now(), ...lease(), subscriber: null, status: 'sending', stored_here: 0 })
        .onConflict((conflict) => conflict.doNothing()),
    ),

    /** Inserts a row into the embedded inbox. Changes nothing if the subscriber is on the list already. */
    insertDelivered: prepareChange(storage, (db, { line, ...of }: Stored) =>
      db
        .insertInto('submissions')
        .values({
          ...NEW_ROW,
          ...of,
          ...now(),
          lease_started_ms: null,
          lease_ms: null,
          status: 'delivered',
          stored_here: 1,
          attempts: line,
        })
        .onConflict((conflict) => conflict.doNothing()),
    ),

    /**
     * Finds equal submissions that have not arrived. The query has no order and no limit, because then PostgreSQL would
     * scan the newest rows by the index of the time instead of the index of the digest.
     */
    findEqual: prepareRead(storage, (db, of: { fields_digest: string }) =>
      db
        .selectFrom('submissions')
        .selectAll()
        .select((row) => row(dialect.wallClock, '-', row.ref('received_ms')).as('age_ms'))
        .where('fields_digest', '=', of.fields_digest)
        .where('step', 'is not', null),
    ),

    byId: prepareRead(storage, (db, of: { id: string }) =>
      db.selectFrom('submissions').selectAll().where('id', '=', of.id),
    ),

    lease: { redelivery: leaseBy('redelivery'), person: leaseBy('person'), operator: leaseBy('operator') },

    deliver: prepareChange(storage, (db, of: Fenced) =>
      ending(db, of).set({
        ...ended(),
        ...(keepsDelivered ? {} : redactedColumns(storage)),
        status: 'delivered',
        reason: null,
      }),
    ),

    /** Delivers a row of an earlier HTTP upstream to the embedded inbox, which has one row for a subscriber. */
    deliverToInbox: prepareChange(storage, (db, of: Fenced) =>
      ending(db, of).set((row) => ({
        ...ended(),
        status: 'delivered',
        reason: null,
        stored_here: 1,
        subscriber: row
          .case()
          .when(
            row.and([
              row('form', '=', 'newsletter'),
              // A later event of a subscriber is not a subscription.
              row('fields_digest', 'is not', null),
              row.not(
                row.exists(
                  row
                    .selectFrom('submissions as other')
                    .select('other.id')
                    .whereRef('other.subscriber', '=', 'submissions.email'),
                ),
              ),
            ]),
          )
          .then(row.ref('email'))
          .else(row.ref('subscriber'))
          .end(),
      })),
    ),

    markUndelivered: prepareChange(storage, (db, { reason, ...of }: Fenced & { reason: SubmissionReason }) =>
      ending(db, of).set((row) => ({
        ...ended(),
        status: ifSpam<SubmissionStatus>('dismissed', sql.lit('undelivered')),
        reason: ifSpam<SubmissionReason>('spam', row.val(reason)),
      })),
    ),

    scheduleRetry: prepareChange(storage, (db, of: Fenced & { step: number; delay_ms: number }) =>
      ending(db, of).set((row) => ({
        status: ifSpam<SubmissionStatus>('dismissed', sql.lit('waiting')),
        status_since_ms: sql<number>`case resumed_status when 'waiting' then status_since_ms else ${dialect.wallClock} end`,
        step: ifSpam<number | null>(null, row.cast<number>(row.val(of.step), 'integer')),
        next_attempt_ms: ifSpam<number | null>(null, row(dialect.wallClock, '+', of.delay_ms)),
      })),
    ),

    /** Restores the status. The schedule and the time of the status stay. */
    resume: prepareChange(storage, (db, of: Fenced) =>
      ending(db, of).set((row) => ({
        status: ifSpam('dismissed', row.ref('resumed_status').$castTo<SubmissionStatus>()),
        step: ifSpam<number | null>(null, row.ref('step')),
        next_attempt_ms: ifSpam<number | null>(null, row.ref('next_attempt_ms')),
      })),
    ),

    /** Finds attempts of processes that have died, with the milliseconds since the end of each lease. */
    expired: prepareRead(storage, (db) =>
      db
        .selectFrom('submissions')
        .selectAll()
        .select((row) => {
          const endedMs = row.parens(row('lease_started_ms', '+', row.ref('lease_ms')));
          return row(dialect.leaseClock, '-', endedMs).as('overdue_ms');
        })
        .where('status', '=', dialect.constant('sending'))
        .where('lease_started_ms', 'is not', null)
        .where(dialect.leaseExpired)
        .limit(dialect.constant(EXPIRED_BATCH)),
    ),

    /** Finds the row that is due for the longest time. */
    nextDue: prepareRead(storage, (db) =>
      db
        .selectFrom('submissions')
        .selectAll()
        .where(dialect.partialOn('status', 'waiting'))
        // PostgreSQL uses the index only if the clock is in its own query.
        .where('next_attempt_ms', '<=', db.selectNoFrom(dialect.wallClock.as('now')))
        .orderBy('next_attempt_ms')
        .limit(dialect.constant(1)),
    ),

    nextRequested: prepareRead(storage, (db) =>
      db
        .selectFrom('submissions')
        .selectAll()
        .where('resend_asked_ms', 'is not', null)
        // With a list of the allowed statuses, SQLite would scan all their rows every five seconds.
        .where('status', '<>', dialect.constant('sending'))
        .orderBy('resend_asked_ms')
        .limit(dialect.constant(1)),
    ),
  };
}
