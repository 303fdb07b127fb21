/** The statements that every browser's submission runs; why they are enough is told in `submissions.ts`. */
import type { QueryCreator } from 'kysely';
import type { Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/prepare-query.ts';
import type { AttemptBy, Schema, SubmissionReason, SubmissionRow } from '../storage/schema.ts';
import { withoutContent } from './content.ts';

/** So many rows whose lease has run out are looked at together. */
export const EXPIRED_TOGETHER = 100;

/** What a row is before anything has happened to it. */
const UNTRIED = {
  origin: 'browser',
  reason: null,
  attempts: '',
  attempt_by: 'first',
  resumed_status: null,
  step: null,
  next_attempt_ms: null,
  resend_asked_ms: null,
} as const;

export type Kept = Pick<
  SubmissionRow,
  'id' | 'form' | 'email' | 'telephone' | 'event' | 'fields_digest' | 'subscriber_id'
>;

/** The attempt that is settled, and the line that it appends. */
export type Fenced = { id: string; attempt_number: number; line: string };

/** Takes how long a lease lasts, in milliseconds, and whether what is delivered keeps its content. */
export function prepareSubmissionQueries(
  storage: Storage,
  { leaseMs, keepsDelivered }: { leaseMs: number; keepsDelivered: boolean },
) {
  const now = () => {
    const { wallClock } = storage.dialect;
    return { received_ms: wallClock, status_since_ms: wallClock };
  };
  const lease = () => ({ lease_started_ms: storage.dialect.leaseClock, lease_ms: leaseMs });

  const take = (by: AttemptBy) =>
    prepareChange(storage, (db, of: { id: string; attempt_number: number; status: string }) =>
      db
        .updateTable('submissions')
        .set((row) => ({
          status: 'sending',
          resumed_status: row.ref('status'),
          attempt_number: row('attempt_number', '+', 1),
          attempt_by: by,
          ...lease(),
          ...(by === 'operator' && { resend_asked_ms: null }),
        }))
        .where('id', '=', of.id)
        .where('attempt_number', '=', of.attempt_number)
        .where('status', '=', of.status as SubmissionRow['status']),
    );

  /** The row of an attempt that is under way: settled by its own number, and once. */
  const ending = (db: QueryCreator<Schema>, of: Fenced) =>
    db
      .updateTable('submissions')
      .set((row) => ({ attempts: row('attempts', '||', of.line) }))
      .where('id', '=', of.id)
      .where('status', '=', 'sending')
      .where('attempt_number', '=', of.attempt_number);

  const ended = () => ({
    status_since_ms: storage.dialect.wallClock,
    step: null,
    next_attempt_ms: null,
    resend_asked_ms: null,
  });

  return {
    /** Again under the same id it changes nothing. */
    keep: prepareChange(storage, (db, of: Kept) =>
      db
        .insertInto('submissions')
        .values({
          ...UNTRIED,
          ...of,
          ...now(),
          ...lease(),
          subscriber: null,
          status: 'sending',
          stored_here: 0,
          attempt_number: 1,
        })
        .onConflict((conflict) => conflict.doNothing()),
    ),

    /** The embedded inbox; changes nothing where the subscriber is on the list already. */
    store: prepareChange(storage, (db, of: Kept & { subscriber: string | null; line: string }) =>
      db
        .insertInto('submissions')
        .values({
          ...UNTRIED,
          id: of.id,
          form: of.form,
          email: of.email,
          telephone: of.telephone,
          event: of.event,
          fields_digest: of.fields_digest,
          subscriber_id: of.subscriber_id,
          subscriber: of.subscriber,
          ...now(),
          lease_started_ms: null,
          lease_ms: null,
          status: 'delivered',
          stored_here: 1,
          attempts: of.line,
          attempt_number: 1,
        })
        .onConflict((conflict) => conflict.doNothing()),
    ),

    /**
     * What a person has sent before, and what did not arrive at its first attempt. Neither in order nor limited:
     * PostgreSQL would then walk the newest day by its index, and not look the digest up.
     */
    findEqual: prepareRead(storage, (db, of: { fields_digest: string }) =>
      db
        .selectFrom('submissions')
        .selectAll()
        .select((row) => row(storage.dialect.wallClock, '-', row.ref('received_ms')).as('age_ms'))
        .where('fields_digest', '=', of.fields_digest)
        .where('step', 'is not', null),
    ),

    look: prepareRead(storage, (db, of: { id: string }) =>
      db.selectFrom('submissions').selectAll().where('id', '=', of.id),
    ),

    take: { redelivery: take('redelivery'), person: take('person'), operator: take('operator') },

    deliver: prepareChange(storage, (db, of: Fenced) =>
      ending(db, of).set({
        ...ended(),
        ...(keepsDelivered ? {} : withoutContent(storage)),
        status: 'delivered',
        reason: null,
      }),
    ),

    /** What waited for an upstream that is the embedded inbox by now: one row is kept for a subscriber. */
    storeWaiting: prepareChange(storage, (db, of: Fenced) =>
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
              // What became of a subscription later is no second one.
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

    giveUp: prepareChange(storage, (db, of: Fenced & { reason: string }) =>
      ending(db, of).set({
        ...ended(),
        status: 'undelivered',
        reason: of.reason as SubmissionReason,
      }),
    ),

    wait: prepareChange(storage, (db, of: Fenced & { step: number; delay_ms: number }) =>
      ending(db, of).set((row) => ({
        status: 'waiting',
        status_since_ms: row
          .case()
          .when('resumed_status', '=', 'waiting')
          .then(row.ref('status_since_ms'))
          .else(storage.dialect.wallClock)
          .end(),
        step: of.step,
        next_attempt_ms: row(storage.dialect.wallClock, '+', of.delay_ms),
      })),
    ),

    /** As if nothing had been tried: the schedule and the moment of its status stay. */
    resume: prepareChange(storage, (db, of: Fenced) =>
      ending(db, of).set((row) => ({
        status: row.ref('resumed_status').$castTo<SubmissionRow['status']>(),
      })),
    ),

    /** Whoever attempted these has died; how long ago each lease ended, in milliseconds. */
    expired: prepareRead(storage, (db) =>
      db
        .selectFrom('submissions')
        .selectAll()
        .select((row) =>
          row(
            storage.dialect.leaseClock,
            '-',
            row.parens(row('lease_started_ms', '+', row.ref('lease_ms'))),
          ).as('overdue_ms'),
        )
        .where('status', '=', storage.dialect.constant('sending'))
        .where('lease_started_ms', 'is not', null)
        .where(storage.dialect.leaseHasRunOut)
        .limit(storage.dialect.constant(EXPIRED_TOGETHER)),
    ),

    /** Longest due first. */
    nextDue: prepareRead(storage, (db) =>
      db
        .selectFrom('submissions')
        .selectAll()
        .where(storage.dialect.partialOn('status', 'waiting'))
        // In a query of its own: PostgreSQL walks no index up to a clock that may move meanwhile.
        .where('next_attempt_ms', '<=', db.selectNoFrom(storage.dialect.wallClock.as('now')))
        .orderBy('next_attempt_ms')
        .limit(storage.dialect.constant(1)),
    ),

    nextAskedFor: prepareRead(storage, (db) =>
      db
        .selectFrom('submissions')
        .selectAll()
        .where('resend_asked_ms', 'is not', null)
        // Not by those that it may have: SQLite would begin at them, every five seconds, and look through all.
        .where('status', 'not in', ['sending', 'dismissed'])
        .orderBy('resend_asked_ms')
        .limit(storage.dialect.constant(1)),
    ),
  };
}
