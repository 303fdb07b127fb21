/** Messages that could not be sent: nothing more happens to them by itself (beyond §2), but the operator may. */
import { isoTime } from '../clock.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { MessageKind, MessageRow } from '../storage/schema.ts';

export type DeadMessage = Pick<
  MessageRow,
  'kind' | 'key' | 'address' | 'message_id' | 'requested_at' | 'attempts' | 'last_attempt_at'
>;

/** A place in the order in which they are listed. */
export type MessagePlace = Pick<MessageRow, 'requested_at' | 'message_id'>;

/** More are never counted. */
const COUNTED_ROWS = 10_000;

/** How many there are. Throws `StorageUnavailable`. */
export async function countDead(storage: Storage): Promise<number> {
  return (await countMessages(storage, 'dead')).count;
}

/** How many there are of a status, or that there are more than are counted. Throws `StorageUnavailable`. */
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

/** Later than any; it stands there so that the index over dead ones is walked on the first page, too. */
const LAST_PLACE: MessagePlace = { requested_at: '9999-12-31T23:59:59.999Z', message_id: '' };

/** Up to `limit` of them, the latest first, by when they were asked for. Throws `StorageUnavailable`. */
export function latestDead(
  { read, dialect }: Pick<Storage, 'read' | 'dialect'>,
  limit: number,
  { requested_at, message_id }: MessagePlace = LAST_PLACE,
): Promise<DeadMessage[]> {
  return read((db) =>
    db
      .selectFrom('messages')
      .select([
        'kind',
        'key',
        'address',
        'message_id',
        'requested_at',
        'attempts',
        'last_attempt_at',
      ])
      .where(dialect.partialOn('status', 'dead'))
      .where((row) =>
        row(row.refTuple('requested_at', 'message_id'), '<', row.tuple(requested_at, message_id)),
      )
      .orderBy('requested_at', 'desc')
      .orderBy('message_id', 'desc')
      .limit(dialect.constant(limit)),
  );
}

export type ResentMessage = 'resent' | 'underWay' | 'unknown';

/**
 * Has a dead one sent again, at once and with all of its attempts, under its own `Message-ID`. One that is pending
 * again, or still, is under way.
 */
export async function resendDead(
  tx: OpenTransaction,
  { kind, key }: { kind: string; key: string },
  now: Date,
): Promise<ResentMessage> {
  // No message has such a key, and PostgreSQL knows no such text.
  if (`${kind}${key}`.includes('\0')) return 'unknown';
  const of = { kind: kind as MessageKind, key };
  const resent = await tx
    .updateTable('messages')
    .set({
      status: 'pending',
      attempts: 0,
      next_attempt_at: isoTime(now.getTime()),
      // Its last send has ended: that is why it is dead.
      attempt_started_ms: null,
    })
    .where('kind', '=', of.kind)
    .where('key', '=', of.key)
    .where('status', '=', 'dead')
    .returning('key')
    .executeTakeFirst();
  if (resent !== undefined) return 'resent';
  const found = await tx
    .selectFrom('messages')
    .select('status')
    .where('kind', '=', of.kind)
    .where('key', '=', of.key)
    .executeTakeFirst();
  return found?.status === 'pending' ? 'underWay' : 'unknown';
}
