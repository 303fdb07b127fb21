/** Messages that failed permanently (status `dead`). Only the operator can resend such a message (reference §11.2). */
import type { ExpressionBuilder } from 'kysely';
import { isoTime } from '../platform/clock.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { MessageKind, MessageRow } from '../storage/operation-schema.ts';
import type { Schema } from '../storage/schema.ts';

const COLUMNS = [
  'kind',
  'key',
  'address',
  'message_id',
  'requested_at',
  'attempts',
  'last_attempt_at',
  'reply',
] as const;

export type FailedMessage = Pick<MessageRow, (typeof COLUMNS)[number]>;

/** Position of a message in the list of failed messages. */
export type MessagePlace = Pick<MessageRow, 'requested_at' | 'message_id'>;

/** The count stops at this number of rows. */
const COUNTED_ROWS = 10_000;

/** Counts the messages of a status. `isMore` is true if there are more than `count`. Throws `StorageUnavailable`. */
export async function countMessages(
  storage: Storage,
  status: 'dead' | 'pending',
): Promise<{ isMore: boolean; count: number }> {
  const [counted] = await storage.read((db) =>
    db
      .selectFrom(
        db
          .selectFrom('messages')
          .select('status')
          .where('status', '=', storage.dialect.constant(status))
          .limit(COUNTED_ROWS + 1)
          .as('counted'),
      )
      .select((row) => row.fn.countAll<number>().as('rows')),
  );
  const rows = Number(counted?.rows ?? 0);
  return { isMore: rows > COUNTED_ROWS, count: Math.min(rows, COUNTED_ROWS) };
}

/** A position later than every message, so that the first page uses the index over `dead` rows as well. */
const LAST_PLACE: MessagePlace = { requested_at: '9999-12-31T23:59:59.999Z', message_id: '' };

/** Returns up to `limit` failed messages, the latest request first. Throws `StorageUnavailable`. */
export function latestFailed(
  { read, dialect }: Pick<Storage, 'read' | 'dialect'>,
  limit: number,
  { requested_at, message_id }: MessagePlace = LAST_PLACE,
): Promise<FailedMessage[]> {
  return read((db) =>
    db
      .selectFrom('messages')
      .select(COLUMNS)
      .where(dialect.partialOn('status', 'dead'))
      .where((row) => row(row.refTuple('requested_at', 'message_id'), '<', row.tuple(requested_at, message_id)))
      .orderBy('requested_at', 'desc')
      .orderBy('message_id', 'desc')
      .limit(dialect.constant(limit)),
  );
}

export type ResentMessage = 'resent' | 'underWay' | 'unknown';

/**
 * Queues a failed message again, with all of its attempts and the same `Message-ID`. Returns `underWay` if the message
 * is pending.
 */
export async function resendFailed(
  tx: OpenTransaction,
  { kind, key }: { kind: string; key: string },
  now: Date,
): Promise<ResentMessage> {
  // No message has such a key, and PostgreSQL does not support NUL in text.
  if (`${kind}${key}`.includes('\0')) return 'unknown';
  const isIt = (row: ExpressionBuilder<Schema, 'messages'>) => row.and({ kind: kind as MessageKind, key });
  const resent = await tx
    .updateTable('messages')
    .set({
      status: 'pending',
      attempts: 0,
      next_attempt_at: isoTime(now.getTime()),
      // The last send has ended, otherwise the status would not be `dead`.
      attempt_started_ms: null,
    })
    .where(isIt)
    .where('status', '=', 'dead')
    .executeTakeFirst();
  if (resent.numUpdatedRows > 0n) return 'resent';
  const found = await tx.selectFrom('messages').select('status').where(isIt).executeTakeFirst();
  return found?.status === 'pending' ? 'underWay' : 'unknown';
}
