/**
 * Many rows, looked at in pieces: SQLite runs on the one thread that answers everybody, so that no statement may
 * look at more than a few thousand, and others have their turn in between.
 */
import type { Clock } from '../clock.ts';
import type { Storage } from '../storage/database.ts';
import { type Between, type Cursor, type Filter, keysOf } from './listing-queries.ts';

export type Reading = { storage: Storage; clock: Pick<Clock, 'turn' | 'monotonic'> };

/** PostgreSQL runs elsewhere: there it is the way to it and back that costs. */
const TIMES = { sqlite: 1, postgres: 10 } as const;

/** Takes how many rows a statement may look at on SQLite; returns how many on this database. */
export function pieceRows({ kind }: Pick<Storage, 'kind'>, rows: number): number {
  return rows * TIMES[kind];
}

/**
 * Cuts what is filtered, newest first or the other way, into pieces of so many rows; `atMost` rows in all, where
 * that is given. The last piece has no end of its own, unless it has all of its rows.
 */
export async function* piecesOf(
  { storage, clock }: Reading,
  filter: Filter,
  {
    direction = 'desc',
    after,
    before,
    rows,
    atMost = Number.POSITIVE_INFINITY,
  }: Pick<Between, 'after' | 'before'> & {
    direction?: 'asc' | 'desc';
    rows: number;
    atMost?: number;
  },
): AsyncGenerator<Between & { end: Cursor | undefined }> {
  let rest: Between = { after, before };
  for (let left = atMost; left > 0; ) {
    const each = Math.min(pieceRows(storage, rows), left);
    left -= each;
    const last = { ...rest, direction, limit: 1, offset: each - 1 };
    const [end]: Cursor[] = await storage.read(keysOf(storage, filter, last));
    yield { ...rest, end, ...(direction === 'desc' ? { from: end } : { to: end }) };
    if (end === undefined) return;
    rest = direction === 'desc' ? { after, before: end } : { after: end, before };
    await clock.turn();
  }
}
