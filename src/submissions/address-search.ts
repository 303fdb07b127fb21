/**
 * Submissions of the addresses that begin in one way (beyond §7). An index has all of these, but by address: up to
 * a number they are sorted, and of more the newest are soon met by whoever walks all in the order of the pages.
 */
import type { SelectQueryBuilder } from 'kysely';
import type { Selects, Storage } from '../storage/database.ts';
import type { Schema } from '../storage/schema.ts';
import { type Between, type Cursor, type Filter, keysOf, matching } from './listing-queries.ts';
import { piecesOf, type Reading } from './pieces.ts';

type Beginning = Filter & { begins: string };

/** A place in the index by address. */
type Place = Cursor & { email: string };
/** From the first one on, below the second. */
type Range = { from: Place; below: Place };

/** Sorts behind whatever follows the beginning of a text. */
const LAST_CHARACTER = '\u{10FFFF}';

const PIECE_ROWS = 10_000;
/** So many are sorted. */
const SORTED_ROWS = 150_000;
/** A walk that looks each row up. */
const WALKED_ROWS = 1_000;

/** Up to `limit` places, newest first. */
export async function newestBeginning(
  reading: Reading,
  filter: Beginning,
  {
    before,
    limit,
    sortedRows = SORTED_ROWS,
  }: { before?: Cursor | undefined; limit: number; sortedRows?: number },
): Promise<Cursor[]> {
  const { storage } = reading;
  const { begins } = filter;
  let newest: Cursor[] = [];
  let rows = 0;
  // PostgreSQL has one piece; on SQLite the pieces come to that number by and by.
  if (storage.kind === 'postgres') {
    rows = await countBeginning(reading, { begins }, { atMost: sortedRows + 1 });
  }
  const look = async (range: Range | undefined) => {
    // Later ones alone can still be among the newest.
    const after = newest[limit - 1];
    const found = await storage.read((db) =>
      within(storage, db, filter, range, { after, before })
        .select(['received_ms', 'id'])
        .orderBy((row) => row('received_ms', '+', row.lit(0)), 'desc')
        .orderBy('id', 'desc')
        .limit(storage.dialect.constant(limit)),
    );
    newest = [...newest, ...found].sort(byNewest).slice(0, limit);
    if (range !== undefined) rows += PIECE_ROWS;
    return rows <= sortedRows;
  };
  if (rows <= sortedRows) await inPieces(reading, begins, look);
  return rows <= sortedRows ? newest : walk(reading, filter, { before, limit });
}

/** How many there are, and no more than `atMost`. */
export async function countBeginning(
  reading: Reading,
  filter: Beginning,
  { before, atMost }: { before?: Cursor | undefined; atMost: number },
): Promise<number> {
  const { storage } = reading;
  let count = 0;
  await inPieces(reading, filter.begins, async (range) => {
    const [counted] = await storage.read((db) =>
      db
        .selectFrom(
          within(storage, db, filter, range, { before })
            .select('id')
            .limit(storage.dialect.constant(atMost))
            .as('some'),
        )
        .select((row) => row.fn.countAll<number>().as('rows')),
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

/** What is begun often is met often; of each piece those alone are read that begin so. */
async function walk(
  reading: Reading,
  { begins, ...filter }: Beginning,
  { before, limit }: { before?: Cursor | undefined; limit: number },
): Promise<Cursor[]> {
  const { storage } = reading;
  const found: Cursor[] = [];
  for await (const piece of piecesOf(reading, filter, { before, rows: WALKED_ROWS })) {
    const part = { ...piece, direction: 'desc', limit: limit - found.length } as const;
    found.push(...(await storage.read(keysOf(storage, { ...filter, begins }, part))));
    if (found.length === limit) break;
  }
  return found;
}

/** Looks at one piece of the index after the other, as long as it is told to go on. */
async function inPieces(
  { storage, clock }: Reading,
  begins: string,
  look: (range: Range | undefined) => Promise<boolean>,
): Promise<void> {
  // It runs elsewhere.
  if (storage.kind === 'postgres') return void (await look(undefined));
  const all = {
    below: { email: begins + LAST_CHARACTER, received_ms: 0, id: '' },
    from: { email: begins, received_ms: 0, id: '' },
  };
  let { below } = all;
  for (;;) {
    const last = await lastOfPiece(storage, { ...all, below });
    const goesOn = await look({ below, from: last ?? all.from });
    if (last === undefined || !goesOn) return;
    below = last;
    await clock.turn();
  }
}

/** Undefined where no more is left than one piece. */
async function lastOfPiece(storage: Storage, range: Range): Promise<Place | undefined> {
  const [last] = await storage.read((db) =>
    inRange(db.selectFrom('submissions'), range)
      .select((row) => [row.ref('email').$notNull().as('email'), 'received_ms', 'id'])
      .orderBy('email', 'desc')
      .orderBy('received_ms', 'desc')
      .orderBy('id', 'desc')
      .limit(storage.dialect.constant(1))
      .offset(storage.dialect.constant(PIECE_ROWS - 1)),
  );
  return last;
}

/** By these bounds alone: beside others, SQLite would begin at those. */
function inRange<O>(query: SelectQueryBuilder<Schema, 'submissions', O>, { below, from }: Range) {
  return query.where((row) => {
    const place = row.refTuple('email', 'received_ms', 'id');
    return row.and([
      row(place, '<', row.tuple(below.email, below.received_ms, below.id)),
      row(place, '>=', row.tuple(from.email, from.received_ms, from.id)),
    ]);
  });
}

function within(
  storage: Pick<Storage, 'dialect'>,
  db: Selects,
  { begins, ...filter }: Beginning,
  range: Range | undefined,
  { after, before }: Pick<Between, 'after' | 'before'>,
) {
  let query =
    range === undefined
      ? matching(storage, db, { ...filter, begins }, {})
      : inRange(matching(storage, db, filter, {}), range);
  for (const [cursor, sign] of [[after, '>'] as const, [before, '<'] as const]) {
    if (cursor === undefined) continue;
    const { received_ms: ms, id } = cursor;
    // By the bare columns a planner may walk all rows in their order instead.
    query = query.where((row) => {
      const received = row('received_ms', '+', row.lit(0));
      const isSame = row.and([row(received, '=', ms), row('id', sign, id)]);
      return row.or([row(received, sign, ms), isSame]);
    });
  }
  return query;
}
