/**
 * Submissions of the addresses that begin in one way (beyond §7). An index has all of these, but by address: they
 * are sorted. Of many, the newest are mostly met sooner by who looks through the newest of all.
 */
import type { Storage } from '../storage/database.ts';
import {
  type Beginning,
  inPieces,
  isLookedUp,
  prepareAll,
  prepareCount,
  prepareNewest,
  type Range,
} from './address-index.ts';
import { type Cursor, countOf, type Filter, keysOf } from './listing-queries.ts';
import { inTurn, newestPieces, preparePiece, type Reading, withoutTimes } from './pieces.ts';

const WALKED_ROWS = 500;

const SIZES = {
  /** Begun more often than that, the newest of all are looked through first: so many. */
  many: 10_000,
  /** No more than that of what is filtered are sooner looked through than those that begin so. */
  few: 30_000,
};

type Wanted = {
  /** Nothing else is looked for. */
  below?: Cursor | undefined;
  /** Where the page begins. */
  before?: Cursor | undefined;
  limit: number;
  /** So many are counted. */
  atMost: number;
  sizes?: typeof SIZES;
};
type Sized = Required<Pick<Wanted, 'limit' | 'atMost' | 'sizes'>> &
  Pick<Wanted, 'below' | 'before'>;
type Found = { keys: Cursor[]; count: number };

/** Up to `limit` places, newest first, and how many there are: no more than `atMost`. */
export async function findBeginning(
  reading: Reading,
  filter: Beginning,
  { below, before = below, limit, atMost, sizes = SIZES }: Wanted,
): Promise<Found> {
  const wanted = { below, before, limit, atMost, sizes };
  const { begins } = filter;
  const some = await countBeginning(reading, { begins }, { atMost: sizes.many + 1 });
  const isMany = some > sizes.many;
  if (isMany && (await areFew(reading, filter, sizes.few))) {
    return lookThrough(reading, filter, wanted);
  }
  const countAll = () => countBeginning(reading, filter, { before: below, atMost });
  if (limit === 0) return { keys: [], count: await countAll() };
  // Whoever looked for words has looked through the newest of all already.
  const isLookedThrough = below !== undefined && before === below;
  if (!isMany || isLookedThrough) return sorted(reading, filter, wanted);
  const { found, end } = await walk(reading, filter, { before, limit, atMost: sizes.many });
  const left = limit - found.length;
  if (left > 0 && end !== undefined) {
    const rest = await sorted(reading, filter, { ...wanted, before: end, limit: left });
    return { keys: [...found, ...rest.keys], count: rest.count };
  }
  return { keys: found, count: await countAll() };
}

/** Whether no more than that are filtered; PostgreSQL knows by itself which index to begin with. */
async function areFew(
  { storage }: Reading,
  { begins: _, ...filter }: Beginning,
  few: number,
): Promise<boolean> {
  if (!isLookedUp(filter) || storage.kind === 'postgres') return false;
  const [counted] = await storage.read(countOf(storage, filter, few + 1));
  return Number(counted?.rows) <= few;
}

/** All of what is filtered, newest first. */
async function lookThrough(
  reading: Reading,
  { begins, ...filter }: Beginning,
  { below, before, limit, atMost }: Sized,
): Promise<Found> {
  const { storage } = reading;
  const keys: Cursor[] = [];
  let count = 0;
  const keysIn = prepareKeys(storage, filter, begins, WALKED_ROWS);
  const pieces = newestPieces(reading, filter, { before: below, rows: WALKED_ROWS });
  for await (const { piece } of pieces) {
    const found = await inTurn(reading, () => storage.read(keysIn(piece)));
    count += found.length;
    const wanted = found.filter((key) => before === undefined || byNewest(before, key) < 0);
    keys.push(...wanted.slice(0, limit - keys.length));
    if (count >= atMost) break;
  }
  return { keys, count: Math.min(count, atMost) };
}

/** All of them are looked at, for the newest can stand anywhere; what has to be looked up is counted with that. */
async function sorted(reading: Reading, filter: Beginning, wanted: Sized): Promise<Found> {
  const { storage } = reading;
  const { below, before, limit, atMost } = wanted;
  if (storage.kind === 'postgres')
    return inTurn(reading, () => sortedAtOnce(storage, filter, wanted));
  let keys: Cursor[] = [];
  let counted = 0;
  const countsHere = isLookedUp(filter);
  const counts = () => countsHere && counted < atMost;
  const allIn = prepareAll(storage, filter, { before: below });
  const newestIn = prepareNewest(storage, filter, { before, limit });
  const look = async (range: Range | undefined) => {
    const isCounted = counts();
    // Later ones alone can still be among the newest.
    const query = isCounted ? allIn(range) : newestIn(range, keys[limit - 1]);
    const found = await inTurn(reading, () => storage.read(query));
    if (isCounted) counted += found.length;
    const later = found.filter((key) => before === undefined || byNewest(before, key) < 0);
    keys = [...keys, ...later].sort(byNewest).slice(0, limit);
    return true;
  };
  await inPieces(reading, filter, look, counts);
  const count = countsHere
    ? Math.min(counted, atMost)
    : await countBeginning(reading, filter, { before: below, atMost });
  return { keys, count };
}

/** It runs elsewhere, and answers two questions at the same time. */
async function sortedAtOnce(
  storage: Storage,
  filter: Beginning,
  { below, before, limit, atMost }: Sized,
): Promise<Found> {
  const newest = prepareNewest(storage, filter, { before, limit });
  const count = prepareCount(storage, filter, { before: below, atMost });
  const [keys, [counted]] = await Promise.all([
    storage.read(newest(undefined)),
    storage.read(count(undefined)),
  ]);
  return { keys, count: Number(counted?.rows) };
}

/** How many there are, and no more than `atMost`. */
export async function countBeginning(
  reading: Reading,
  filter: Beginning,
  wanted: { before?: Cursor | undefined; atMost: number },
): Promise<number> {
  const { storage } = reading;
  let count = 0;
  const countIn = prepareCount(storage, filter, wanted);
  await inPieces(reading, filter, async (range) => {
    const [counted] = await inTurn(reading, () => storage.read(countIn(range)));
    count += Number(counted?.rows);
    return count < wanted.atMost;
  });
  return Math.min(count, wanted.atMost);
}

/** What comes later stands first. */
function byNewest(one: Cursor, other: Cursor): number {
  if (other.received_ms !== one.received_ms) return other.received_ms - one.received_ms;
  return one.id === other.id ? 0 : one.id < other.id ? 1 : -1;
}

/** The newest of what is filtered, each looked up; and the last of these, where there may be older ones. */
async function walk(
  reading: Reading,
  { begins, ...filter }: Beginning,
  { before, limit, atMost }: { before: Cursor | undefined; limit: number; atMost: number },
): Promise<{ found: Cursor[]; end: Cursor | undefined }> {
  const { storage } = reading;
  const found: Cursor[] = [];
  let end: Cursor | undefined;
  const keysIn = prepareKeys(storage, filter, begins, limit);
  const pieces = newestPieces(reading, filter, { before, rows: WALKED_ROWS, atMost });
  for await (const { piece, end: last } of pieces) {
    const some = await inTurn(reading, () => storage.read(keysIn(piece)));
    found.push(...some.slice(0, limit - found.length));
    end = last;
    if (found.length === limit) break;
  }
  return { found, end };
}

/** The newest of a piece that begin so. */
function prepareKeys(storage: Storage, filter: Filter, beginning: string, limit: number) {
  const wanted = { ...withoutTimes(filter), beginning };
  return preparePiece(storage, (piece) =>
    keysOf(storage, wanted, { ...piece, direction: 'desc', limit }),
  );
}
