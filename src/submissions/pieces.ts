/**
 * Many rows, looked at in pieces: SQLite runs on the one thread that answers everybody, so that no statement may
 * look at more than a few thousand, and others have their turn in between. Whoever looks long is an operator in the
 * console; a lead that comes in meanwhile goes first (beyond §7).
 */
import type { Clock } from '../clock.ts';
import type { Storage } from '../storage/database.ts';
import { type Between, type Cursor, type Filter, keysOf } from './listing-queries.ts';

export type Reading = {
  storage: Storage;
  clock: Pick<Clock, 'turn' | 'monotonic'>;
  /** Whether anybody else waits for an answer now; where it is not given, nobody does. */
  othersWait?: (() => boolean) | undefined;
};

/** PostgreSQL runs elsewhere: there it is the way to it and back that costs. */
const TIMES = { sqlite: 1, postgres: 10 } as const;

/** The end of the last piece that was asked for, of each store. */
const queues = new WeakMap<Storage, Promise<void>>();

/** Takes how many rows a statement may look at on SQLite; returns how many on this database. */
export function pieceRows({ kind }: Pick<Storage, 'kind'>, rows: number): number {
  return rows * TIMES[kind];
}

/**
 * Runs a piece of a long look when those that were asked for before are over: several who look long cost everybody
 * else no more than one. Before the next piece the others have a turn, and while they wait for an answer as much
 * time as the piece took. Returns what the piece does, and throws what it throws.
 */
export async function inTurn<T>(reading: Reading, piece: () => Promise<T>): Promise<T> {
  const { storage, clock } = reading;
  const before = queues.get(storage);
  const { promise: over, resolve: end } = Promise.withResolvers<void>();
  queues.set(storage, over);
  await before;
  const began = clock.monotonic();
  try {
    return await piece();
  } finally {
    void letOthers(reading, clock.monotonic() - began).then(end);
  }
}

async function letOthers({ clock, othersWait }: Reading, tookMs: number): Promise<void> {
  const until = clock.monotonic() + tookMs;
  do await clock.turn();
  while (othersWait?.() && clock.monotonic() < until);
}

/**
 * Cuts what is filtered, newest first or the other way, into pieces of so many rows; `atMost` rows in all, where
 * that is given. The last piece has no end of its own, unless it has all of its rows.
 */
export async function* piecesOf(
  reading: Reading,
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
  const { storage } = reading;
  let rest: Between = { after, before };
  for (let left = atMost; left > 0; ) {
    const each = Math.min(pieceRows(storage, rows), left);
    left -= each;
    const last = { ...rest, direction, limit: 1, offset: each - 1 };
    const [end]: Cursor[] = await inTurn(reading, () =>
      storage.read(keysOf(storage, filter, last)),
    );
    yield { ...rest, end, ...(direction === 'desc' ? { from: end } : { to: end }) };
    if (end === undefined) return;
    rest = direction === 'desc' ? { after, before: end } : { after: end, before };
  }
}
