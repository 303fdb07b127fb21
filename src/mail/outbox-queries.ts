/** The outbox's statements; why they are enough is told in `outbox.ts`. Times are ISO 8601 text. */
import type { ExpressionBuilder, QueryCreator } from 'kysely';
import type { Selects, Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/prepare-query.ts';
import type { MessageKind, MessageRow, Schema } from '../storage/schema.ts';
import { PRIORITIES } from './messages.ts';

/** A row as it was read, to be changed only if it is still the same. */
type Seen = { kind: MessageKind; key: string; message_id: string; attempts: number };
type Lately = { now: string; minute_ago: string };

/** Takes how many attempts a minute may have, and for how long a row rests after one (milliseconds). */
export function prepareOutboxQueries(storage: Storage, perMinute: number, restMs: number) {
  /**
   * The attempts of the last minute. Their rows come due later than now, whatever became of them: by
   * that the index finds them.
   */
  const spent = (db: Selects, of: Lately) =>
    db
      .selectFrom('messages')
      .select((row) => row.fn.countAll<number>().as('attempts'))
      .where('status', 'in', ['pending', 'sent', 'dead'])
      .where('next_attempt_at', '>', of.now)
      // Both, for the index.
      .where('priority', 'in', PRIORITIES)
      .where('last_attempt_at', '>', of.minute_ago)
      .where('last_attempt_at', '<=', of.now);

  /** By the lease clock: a step of a wall clock can't bring what is under way a second time. */
  const restsAgain = (row: ExpressionBuilder<Schema, 'messages'>) => {
    const { leaseClock } = storage.dialect;
    return row.or([
      row('attempt_started_ms', 'is', null),
      row('attempt_started_ms', '>', leaseClock),
      row('attempt_started_ms', '<=', row(leaseClock, '-', restMs)),
    ]);
  };

  const marked = (db: QueryCreator<Schema>, of: Seen, status: 'sent' | 'dead') =>
    db
      .updateTable('messages')
      .set({ status })
      .where('kind', '=', of.kind)
      .where('key', '=', of.key)
      .where('message_id', '=', of.message_id)
      .where('status', '=', 'pending');

  return {
    spent: prepareRead(storage, spent),

    nextDue: prepareRead(storage, (db, of: { now: string; priority: MessageRow['priority'] }) =>
      db
        .selectFrom('messages')
        .selectAll()
        .where('status', '=', 'pending')
        .where('priority', '=', of.priority)
        .where('next_attempt_at', '<=', of.now)
        .where(restsAgain)
        .orderBy('next_attempt_at')
        .limit(storage.dialect.constant(1)),
    ),

    /** Changes no row where another worker was first. The budget is counted inside the statement again. */
    take: prepareChange(storage, (db, of: Seen & Lately & { next_attempt_at: string }) =>
      db
        .updateTable('messages')
        .set((row) => ({
          attempts: row('attempts', '+', 1),
          last_attempt_at: of.now,
          attempt_started_ms: storage.dialect.leaseClock,
          next_attempt_at: of.next_attempt_at,
        }))
        .where('kind', '=', of.kind)
        .where('key', '=', of.key)
        .where('message_id', '=', of.message_id)
        .where('attempts', '=', of.attempts)
        .where('status', '=', 'pending')
        .where(restsAgain)
        .where(spent(db, of), '<', perMinute),
    ),

    /** What the server took is sent, whoever attempts it now. */
    markSent: prepareChange(storage, (db, of: Seen) => marked(db, of, 'sent')),

    /** Only the last attempt gives up. */
    markDead: prepareChange(storage, (db, of: Seen) =>
      marked(db, of, 'dead').where('attempts', '=', of.attempts),
    ),

    /** There is nothing to say; unless another worker has attempted it since, whose attempt counts. */
    remove: prepareChange(storage, (db, of: Seen) =>
      db
        .deleteFrom('messages')
        .where('kind', '=', of.kind)
        .where('key', '=', of.key)
        .where('message_id', '=', of.message_id)
        .where('attempts', '=', of.attempts)
        .where('status', '=', 'pending'),
    ),

    sweep: prepareChange(storage, (db, of: { capped_until: string }) =>
      db
        .deleteFrom('messages')
        .where('status', 'in', ['sent', 'dead'])
        .where('requested_at', '<=', of.capped_until)
        .where('last_attempt_at', '<=', of.capped_until),
    ),

    /** Notices that no instance tells of any more: what they are about is kept no longer for them (beyond §1). */
    sweepNew: prepareChange(storage, (db, of: { capped_until: string }) =>
      db
        .deleteFrom('messages')
        .where('status', '=', 'new')
        .where('requested_at', '<=', of.capped_until),
    ),
  };
}
