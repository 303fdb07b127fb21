/**
 * Submissions of the addresses that begin in one way (beyond §7). An index has all of these, but by address: they
 * are sorted. Of many, the newest are mostly met sooner by who looks through the newest of all.
 */
import type { ExpressionBuilder, SelectQueryBuilder } from 'kysely';
import type { Selects, Storage } from '../storage/database.ts';
import type { Schema } from '../storage/schema.ts';
import { type Between, type Cursor, type Filter, keysOf } from './listing-queries.ts';
import { inTurn, piecesOf, type Reading } from './pieces.ts';

type Beginning = Filter & { begins: string };

/** A place in the index by address. */
type Place = Cursor & { email: string };
/** From the first one on, below the second. */
type Range = { from: Place; below: Place };

/** Sorts behind whatever follows the beginning of a text. */
const LAST_CHARACTER = '\u{10FFFF}';

/** In the index alone. */
const PIECE_ROWS = 10_000;
/** Where each row may have to be looked up. */
const LOOKED_UP_ROWS = 4_000;
/** Begun more often than that, the newest of all are looked through first: so many. */
const MANY_ROWS = 10_000;
const WALKED_ROWS = 1_000;

type Wanted = {
  /** Nothing else is looked for. */
  below?: Cursor | undefined;
  /** Where the page begins. */
  before?: Cursor | undefined;
  limit: number;
  /** So many are counted. */
  atMost: number;
  manyRows?: number;
};

/** Up to `limit` places, newest first, and how many there are: no more than `atMost`. */
export async function findBeginning(
  reading: Reading,
  filter: Beginning,
  { below, before = below, limit, atMost, manyRows = MANY_ROWS }: Wanted,
): Promise<{ keys: Cursor[]; count: number }> {
  const { begins } = filter;
  const countAll = () => countBeginning(reading, filter, { before: below, atMost });
  if (limit === 0) return { keys: [], count: await countAll() };
  const some = await countBeginning(reading, { begins }, { atMost: manyRows + 1 });
  // Whoever looked for words has looked through the newest of all already.
  const isLookedThrough = below !== undefined && before === below;
  if (some <= manyRows || isLookedThrough) {
    return sorted(reading, filter, { below, before, limit, atMost });
  }
  const { found, end } = await walk(reading, filter, { before, limit, atMost: manyRows });
  const left = limit - found.length;
  if (left > 0 && end !== undefined) {
    const rest = await sorted(reading, filter, { below, before: end, limit: left, atMost });
    return { keys: [...found, ...rest.keys], count: rest.count };
  }
  return { keys: found, count: await countAll() };
}

/** All of them are looked at, for the newest can stand anywhere; what has to be looked up is counted with that. */
async function sorted(
  reading: Reading,
  filter: Beginning,
  { below, before, limit, atMost }: Omit<Wanted, 'manyRows'>,
): Promise<{ keys: Cursor[]; count: number }> {
  const { storage } = reading;
  let keys: Cursor[] = [];
  let counted = 0;
  const countsHere = isLookedUp(filter) && storage.kind === 'sqlite';
  await inPieces(reading, filter, async (range) => {
    const isCounted = countsHere && counted < atMost;
    // Later ones alone can still be among the newest.
    const bounds = isCounted ? { before: below } : { before, after: keys[limit - 1] };
    const found = await inTurn(reading, () =>
      storage.read((db) => {
        const query = within(storage, db, filter, range, bounds).select(['received_ms', 'id']);
        if (isCounted) return query;
        return query
          .orderBy((row) => row('received_ms', '+', row.lit(0)), 'desc')
          .orderBy('id', 'desc')
          .limit(storage.dialect.constant(limit));
      }),
    );
    if (isCounted) counted += found.length;
    const wanted = found.filter((key) => before === undefined || byNewest(before, key) < 0);
    keys = [...keys, ...wanted].sort(byNewest).slice(0, limit);
    return true;
  });
  const count = countsHere
    ? Math.min(counted, atMost)
    : await countBeginning(reading, filter, { before: below, atMost });
  return { keys, count };
}

/** How many there are, and no more than `atMost`. */
export async function countBeginning(
  reading: Reading,
  filter: Beginning,
  { before, atMost }: { before?: Cursor | undefined; atMost: number },
): Promise<number> {
  const { storage } = reading;
  let count = 0;
  await inPieces(reading, filter, async (range) => {
    const [counted] = await inTurn(reading, () =>
      storage.read((db) =>
        db
          .selectFrom(
            within(storage, db, filter, range, { before })
              .select('id')
              .limit(storage.dialect.constant(atMost))
              .as('some'),
          )
          .select((row) => row.fn.countAll<number>().as('rows')),
      ),
    );
    count += Number(counted?.rows);
    return count < atMost;
  });
  return Math.min(count, atMost);
}

/** What comes later stands first. */
function byNewest(one: Cursor, other: Cursor): number {
  return other.received_ms - one.received_ms || (one.id < other.id ? 1 : -1);
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
  for await (const piece of piecesOf(reading, filter, { before, rows: WALKED_ROWS, atMost })) {
    const part = { ...piece, direction: 'desc', limit: limit - found.length } as const;
    const query = keysOf(storage, { ...filter, beginning: begins }, part);
    found.push(...(await inTurn(reading, () => storage.read(query))));
    end = piece.end;
    if (found.length === limit) break;
  }
  return { found, end };
}

/** Looks at one piece of the index after the other, as long as it is told to go on. */
async function inPieces(
  reading: Reading,
  filter: Beginning,
  look: (range: Range | undefined) => Promise<boolean>,
): Promise<void> {
  const { storage } = reading;
  // It runs elsewhere.
  if (storage.kind === 'postgres') return void (await look(undefined));
  const { begins } = filter;
  const rows = isLookedUp(filter) ? LOOKED_UP_ROWS : PIECE_ROWS;
  const all = {
    below: { email: begins + LAST_CHARACTER, received_ms: 0, id: '' },
    from: { email: begins, received_ms: 0, id: '' },
  };
  let { below } = all;
  for (;;) {
    const last = await lastOfPiece(reading, { ...all, below }, rows);
    const goesOn = await look({ below, from: last ?? all.from });
    if (last === undefined || !goesOn) return;
    below = last;
  }
}

/** Whether the index does not say all that is filtered. */
function isLookedUp({ status, form, origin }: Filter): boolean {
  return status !== undefined || form !== undefined || origin !== undefined;
}

/** Undefined where no more is left than one piece. */
async function lastOfPiece(
  reading: Reading,
  range: Range,
  rows: number,
): Promise<Place | undefined> {
  const { storage } = reading;
  const [last] = await inTurn(reading, () =>
    storage.read((db) =>
      inRange(db.selectFrom('submissions'), range)
        .select((row) => [row.ref('email').$notNull().as('email'), 'received_ms', 'id'])
        .orderBy('email', 'desc')
        .orderBy('received_ms', 'desc')
        .orderBy('id', 'desc')
        .limit(storage.dialect.constant(1))
        .offset(storage.dialect.constant(rows - 1)),
    ),
  );
  return last;
}

function inRange<O>(query: SelectQueryBuilder<Schema, 'submissions', O>, { below, from }: Range) {
  return query.where((row) => {
    const place = row.refTuple('email', 'received_ms', 'id');
    return row.and([
      row(place, '<', row.tuple(below.email, below.received_ms, below.id)),
      row(place, '>=', row.tuple(from.email, from.received_ms, from.id)),
    ]);
  });
}

/**
 * In the index by address. Each other column stands in an expression: bare, it would have SQLite begin at it, and
 * look through a million leads of one status; and a planner may walk all rows in their order.
 */
function within(
  { dialect, kind }: Pick<Storage, 'dialect' | 'kind'>,
  db: Selects,
  { begins, since, until, ...equal }: Beginning,
  range: Range | undefined,
  { after, before }: Pick<Between, 'after' | 'before'>,
) {
  const all = db.selectFrom('submissions');
  let query =
    range === undefined ? all.where(dialect.beginsWith('email', begins)) : inRange(all, range);
  for (const column of ['status', 'form', 'origin', 'email'] as const) {
    const value = equal[column];
    if (value === undefined) continue;
    query = query.where((row) => {
      const whole = row.fn<string>('substr', [column, row.lit(1)]);
      return kind === 'sqlite' ? row(whole, '=', value) : row(column, '=', value);
    });
  }
  const received = (row: ExpressionBuilder<Schema, 'submissions'>) =>
    row('received_ms', '+', row.lit(0));
  if (since !== undefined) query = query.where((row) => row(received(row), '>=', since.getTime()));
  if (until !== undefined) query = query.where((row) => row(received(row), '<', until.getTime()));
  for (const [cursor, sign] of [[after, '>'] as const, [before, '<'] as const]) {
    if (cursor === undefined) continue;
    const { received_ms: ms, id } = cursor;
    query = query.where((row) => {
      const isSame = row.and([row(received(row), '=', ms), row('id', sign, id)]);
      return row.or([row(received(row), sign, ms), isSame]);
    });
  }
  return query;
}
