/**
 * The index by address: its queries, and its pieces (beyond §7). It has all addresses that begin in one way, but by
 * address; what it does not say of a row is looked up.
 */
import type { ExpressionBuilder, SelectQueryBuilder } from 'kysely';
import type { Selects, Storage } from '../storage/database.ts';
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
/** The newest of a part of the index. */
export function newest(
  storage: Storage,
  db: Selects,
  filter: Beginning,
  range: Range | undefined,
  { limit, ...bounds }: Pick<Between, 'after' | 'before'> & { limit: number },
) {
  return within(storage, db, filter, range, bounds)
    .select(['received_ms', 'id'])
    .orderBy((row) => row('received_ms', '+', row.lit(0)), 'desc')
    .orderBy('id', 'desc')
    .limit(storage.dialect.constant(limit));
}

/** How many there are in a part of the index, and no more than `atMost`. */
export function counting(
  storage: Storage,
  db: Selects,
  filter: Beginning,
  range: Range | undefined,
  { before, atMost }: { before?: Cursor | undefined; atMost: number },
) {
  const some = within(storage, db, filter, range, { before }).select('id');
  return db
    .selectFrom(some.limit(storage.dialect.constant(atMost)).as('some'))
    .select((row) => row.fn.countAll<number>().as('rows'));
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
  for (;;) {
    const rows = looksUp() ? LOOKED_UP_ROWS : PIECE_ROWS;
    const last = await lastOfPiece(reading, { ...all, below }, rows);
    const goesOn = await look({ below, from: last ?? all.from });
    if (last === undefined || !goesOn) return;
    below = last;
  }
}

/** Whether the index does not say all that is filtered. */
export function isLookedUp({ status, form, origin }: Filter): boolean {
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
export function within(
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
