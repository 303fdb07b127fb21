/** Which browser submissions have not arrived: what the console's first page says first (beyond §7). */
import type { Storage } from '../storage/database.ts';
import type { SubmissionReason } from '../storage/schema.ts';
import { type AttemptOutcome, attemptsOf } from './attempts.ts';
import { COUNTED_ROWS, type Total } from './listing.ts';
import { countOf, keysOf } from './listing-queries.ts';

export type NotArrived = {
  total: Total;
  /** The one that came first. */
  oldest: {
    id: string;
    receivedAt: string;
    /** Why nothing more happens by itself; null of what waits. */
    reason: SubmissionReason | null;
    /** Of its last attempt; undefined where none has ended. */
    outcome: AttemptOutcome | undefined;
  };
};

/** Undefined where there is none. What an agent's failed execution left is nobody's to send. */
export async function notArrived(
  storage: Storage,
  status: 'undelivered' | 'waiting',
): Promise<NotArrived | undefined> {
  const filter = { status, origin: 'browser' } as const;
  const first = { direction: 'asc', limit: 1 } as const;
  const [key] = await storage.read(keysOf(storage, filter, first));
  if (key === undefined) return undefined;
  const [row] = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .select(['id', 'received_ms', 'reason', 'attempts'])
      .where('id', '=', key.id),
  );
  const [counted] = await storage.read(countOf(storage, filter, COUNTED_ROWS + 1));
  const rows = Number(counted?.rows ?? 0);
  // Ended meanwhile: the next look says what stands then.
  if (row === undefined) return undefined;
  return {
    total: { isMore: rows > COUNTED_ROWS, count: Math.min(rows, COUNTED_ROWS) },
    oldest: {
      id: row.id,
      receivedAt: new Date(row.received_ms).toISOString(),
      reason: row.reason,
      outcome: attemptsOf(row.attempts).at(-1)?.outcome,
    },
  };
}
