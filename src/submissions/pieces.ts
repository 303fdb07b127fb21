/**
 * Many rows, looked at in pieces: SQLite runs on the one thread that answers everybody, so that no statement may
 * look at more than a few thousand, and others have their turn in between. Whoever looks long is an operator in the
 * console; a lead that comes in meanwhile goes first (beyond §7).
 */

import type { Compilable } from 'kysely';
import type { Clock } from '../clock.ts';
import type { Read, Selects, Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/prepare-query.ts';
import { type Between, type Cursor, type Filter, keysOf } from './listing-queries.ts';

export type Reading = {
  storage: Storage;
  clock: Pick<Clock, 'turn' | 'monotonic'>;
  /** Whether anybody else waits for an answer now; where it is not given, nobody does. */
  othersWait?: (() => boolean) | undefined;
};

/** PostgreSQL runs elsewhere: there it is the way to it and back that costs. */
const TIMES = { sqlite: 1, postgres: 10 } as const;

/** So long a lead takes, where nothing is in its way. */
const A_LEAD_MS = 4;

/** The end of the last piece that was asked for, of each store. */
const queues = new WeakMap<Storage, Promise<void>>();

/** Takes how many rows a statement may look at on SQLite; returns how many on this database. */
export function pieceRows({ kind }: Pick<Storage, 'kind'>, rows: number): number {
  return rows * TIMES[kind];
}

/**
 * Runs a piece of a long look when those that were asked for before are over: several who look long cost everybody
 * else no more than one. Before the next piece the others have a turn, and while they wait for an answer as much
 * time as the piece took, or a lead takes. Returns what the piece does, and throws what it throws.
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
  const until = clock.monotonic() + Math.max(tookMs, A_LEAD_MS);
  do await clock.turn();
  while (othersWait?.() && clock.monotonic() < until);
}

/** A part of the order, newest first, with both of its ends: the first is not in it. */
export type Piece = { before: Cursor; from: Cursor };

const NEWEST: Cursor = { received_ms: Number.MAX_SAFE_INTEGER, id: '' };
const OLDEST: Cursor = { received_ms: Number.MIN_SAFE_INTEGER, id: '' };

/**
 * Cuts what is filtered into pieces of so many rows, newest first; `atMost` rows in all, where that is given. With
 * each comes its last row; without one it was the last piece.
 */
export async function* newestPieces(
  reading: Reading,
  filter: Filter,
  {
    before,
    rows,
    atMost = Number.POSITIVE_INFINITY,
  }: { before?: Cursor | undefined; rows: number; atMost?: number },
): AsyncGenerator<{ piece: Piece; end: Cursor | undefined }> {
  const { storage } = reading;
  const { since, until } = filter;
  const lastOf = (each: number) =>
    preparePiece(storage, (piece) =>
      keysOf(storage, withoutTimes(filter), {
        ...piece,
        direction: 'desc',
        limit: 1,
        offset: each - 1,
      }),
    );
  const most = Math.min(pieceRows(storage, rows), atMost);
  const lastOfMost = lastOf(most);
  const from = since === undefined ? OLDEST : { received_ms: since.getTime(), id: '' };
  const newest = until === undefined ? NEWEST : { received_ms: until.getTime(), id: '' };
  let rest: Piece = {
    before: before !== undefined && before.received_ms < newest.received_ms ? before : newest,
    from,
  };
  for (let left = atMost; left > 0; ) {
    const each = Math.min(most, left);
    left -= each;
    const last = each === most ? lastOfMost : lastOf(each);
    const [end]: Cursor[] = await inTurn(reading, () => storage.read(last(rest)));
    yield { piece: { ...rest, from: end ?? from }, end };
    if (end === undefined) return;
    rest = { before: end, from };
  }
}

/** What is filtered beside the time, for a piece says that by its ends. */
export function withoutTimes({ since: _, until: __, ...filter }: Filter): Filter {
  return filter;
}

/** Takes what builds a query of one piece; returns what makes it ready for each, built and compiled once. */
export function preparePiece<R>(
  storage: Storage,
  build: (piece: Piece) => (db: Selects) => Compilable<R>,
): (piece: Piece) => Read<R> {
  const prepared = prepareRead(
    storage,
    (db, of: { before_ms: number; before_id: string; from_ms: number; from_id: string }) =>
      build({
        before: { received_ms: of.before_ms, id: of.before_id },
        from: { received_ms: of.from_ms, id: of.from_id },
      })(db),
  );
  return ({ before, from }) =>
    prepared({
      before_ms: before.received_ms,
      before_id: before.id,
      from_ms: from.received_ms,
      from_id: from.id,
    });
}

/**
 * Cuts what is filtered into pieces of so many rows, oldest first. The last piece has no end of its own, unless it
 * has all of its rows.
 */
export async function* oldestPieces(
  reading: Reading,
  filter: Filter,
  { before, rows }: { before?: Cursor | undefined; rows: number },
): AsyncGenerator<Between> {
  const { storage } = reading;
  const each = pieceRows(storage, rows);
  let rest: Between = { before };
  for (;;) {
    const last = { ...rest, direction: 'asc', limit: 1, offset: each - 1 } as const;
    const [to]: Cursor[] = await inTurn(reading, () => storage.read(keysOf(storage, filter, last)));
    yield { ...rest, to };
    if (to === undefined) return;
    rest = { after: to, before };
  }
}
