/**
 * The index by address: its queries, and its pieces (beyond §7). It has all addresses that begin in one way, but by
 * address; what it does not say of a row is looked up.
 */
import type { Compilable, ExpressionBuilder } from 'kysely';
import type { Read, Selects, Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/prepare-query.ts';
import type { Schema } from '../storage/schema.ts';
import type { Between, Cursor, Filter } from './listing-queries.ts';
import { inTurn, type Reading } from './pieces.ts';

export type Beginning = Filter & { begins: string };

/** A place in the index by address. */
type Place = Cursor & { email: string };
/** From the first one on, below the second. */
export type Range = { from: Place; below: Place };

/** Sorts behind whatever follows the beginning of a text. */
const LAST_CHARACTER = '\u{10FFFF}';

/** In the index alone. */
const PIECE_ROWS = 5_000;
/** Where each row may have to be looked up. */
const LOOKED_UP_ROWS = 1_500;

/** Before all others. */
const OLDEST: Cursor = { received_ms: Number.MIN_SAFE_INTEGER, id: '' };

/** What makes a query of a part of the index ready: of all of it, where none is named, and of what is later than a place. */
type OfRange<R> = (range: Range | undefined, after?: Cursor) => Read<R>;

/** The newest of a part of the index. */
export function prepareNewest(
  storage: Storage,
  filter: Beginning,
  { before, limit }: { before?: Cursor | undefined; limit: number },
): OfRange<Cursor> {
  return prepareInRange(storage, (db, range, after) =>
    within(storage, db, filter, range, { before, after })
      .select(['received_ms', 'id'])
      .orderBy((row) => row('received_ms', '+', row.lit(0)), 'desc')
      .orderBy('id', 'desc')
      .limit(storage.dialect.constant(limit)),
  );
}

/** All of a part of the index. */
export function prepareAll(
  storage: Storage,
  filter: Beginning,
  bounds: Pick<Between, 'before'>,
): OfRange<Cursor> {
  return prepareInRange(storage, (db, range) =>
    within(storage, db, filter, range, bounds).select(['received_ms', 'id']),
  );
}

/** How many there are in a part of the index, and no more than `atMost`. */
export function prepareCount(
  storage: Storage,
  filter: Beginning,
  { before, atMost }: { before?: Cursor | undefined; atMost: number },
): OfRange<{ rows: number }> {
  return prepareInRange(storage, (db, range) => {
    const some = within(storage, db, filter, range, { before }).select('id');
    return db
      .selectFrom(some.limit(storage.dialect.constant(atMost)).as('some'))
      .select((row) => row.fn.countAll<number>().as('rows'));
  });
}

/** A look along the index has many pieces: their query is built and compiled once. */
function prepareInRange<R>(
  storage: Storage,
  build: (db: Selects, range: Range | undefined, after: Cursor) => Compilable<R>,
): OfRange<R> {
  const prepared = prepareRead(storage, (db, of: ReturnType<typeof valuesOf>) => {
    const { from_email, from_ms, from_id, below_email, below_ms, below_id, after_ms, after_id } =
      of;
    const from = { email: from_email, received_ms: from_ms, id: from_id };
    const below = { email: below_email, received_ms: below_ms, id: below_id };
    return build(db, { from, below }, { received_ms: after_ms, id: after_id });
  });
  return (range, after = OLDEST) =>
    range === undefined
      ? { read: storage.compile((db) => build(db, range, after)) }
      : prepared(valuesOf(range, after));
}

function valuesOf({ from, below }: Range, after: Cursor) {
  return {
    from_email: from.email,
    from_ms: from.received_ms,
    from_id: from.id,
    below_email: below.email,
    below_ms: below.received_ms,
    below_id: below.id,
    after_ms: after.received_ms,
    after_id: after.id,
  };
}

/** Looks at one piece of the index after the other, as long as it is told to go on: a short one where rows are looked up. */
export async function inPieces(
  reading: Reading,
  filter: Beginning,
  look: (range: Range | undefined) => Promise<boolean>,
  looksUp: () => boolean = () => isLookedUp(filter),
): Promise<void> {
  const { storage } = reading;
  // It runs elsewhere.
  if (storage.kind === 'postgres') return void (await look(undefined));
  const { begins } = filter;
  const all = {
    below: { email: begins + LAST_CHARACTER, received_ms: 0, id: '' },
    from: { email: begins, received_ms: 0, id: '' },
  };
  let { below } = all;
  const lastOfShort = prepareLast(storage, begins, LOOKED_UP_ROWS);
  const lastOfLong = prepareLast(storage, begins, PIECE_ROWS);
  for (;;) {
    const lastOf = looksUp() ? lastOfShort : lastOfLong;
    // Undefined where no more is left than one piece.
    const [last] = await inTurn(reading, () => storage.read(lastOf({ ...all, below })));
    const goesOn = await look({ below, from: last ?? all.from });
    if (last === undefined || !goesOn) return;
    below = last;
  }
}

/** Whether the index does not say all that is filtered. */
export function isLookedUp({ status, form, origin }: Filter): boolean {
  return status !== undefined || form !== undefined || origin !== undefined;
}

/** The last place of the first so many rows of a part of the index. */
function prepareLast(storage: Storage, begins: string, rows: number): OfRange<Place> {
  const { constant } = storage.dialect;
  return prepareInRange(storage, (db, range) =>
    inRange(storage, db, begins, range)
      .select((row) => [row.ref('email').$notNull().as('email'), 'received_ms', 'id'])
      .orderBy('email', 'desc')
      .orderBy('received_ms', 'desc')
      .orderBy('id', 'desc')
      .limit(constant(1))
      .offset(constant(rows - 1)),
  );
}

/** All that begin so, or a part of them. */
function inRange(
  { dialect }: Pick<Storage, 'dialect'>,
  db: Selects,
  begins: string,
  range: Range | undefined,
) {
  const all = db.selectFrom('submissions');
  if (range === undefined) return all.where(dialect.beginsWith('email', begins));
  const { below, from } = range;
  return all.where((row) => {
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
  storage: Pick<Storage, 'dialect' | 'kind'>,
  db: Selects,
  { begins, since, until, ...equal }: Beginning,
  range: Range | undefined,
  { after, before }: Pick<Between, 'after' | 'before'>,
) {
  let query = inRange(storage, db, begins, range);
  for (const column of ['status', 'form', 'origin', 'email'] as const) {
    const value = equal[column];
    if (value === undefined) continue;
    query = query.where((row) => {
      const whole = row.fn<string>('substr', [column, row.lit(1)]);
      return storage.kind === 'sqlite' ? row(whole, '=', value) : row(column, '=', value);
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
