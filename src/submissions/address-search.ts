/**
 * Submissions of the addresses that begin in one way (beyond §7). An index has all of these, but by address: up to
 * a number they are sorted, and of more the newest are soon met by whoever walks all in the order of the pages.
 */
import type { Selects, Storage } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import { type Between, type Cursor, type Filter, keysOf, matching } from './listing-queries.ts';
import { piecesOf, type Reading } from './pieces.ts';

type Beginning = Filter & { begins: string };

/** A place in the index by address. */
type Place = Pick<SubmissionRow, 'received_ms' | 'id'> & { email: string | null };
type Range = { below?: Place | undefined; from?: Place | undefined };

const PIECE_ROWS = 10_000;
/** So many are sorted. */
const SORTED_ROWS = 200_000;
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
  const many = await countBeginning(reading, { begins }, { atMost: sortedRows + 1 });
  if (many > sortedRows) return walk(reading, filter, { before, limit });
  let newest: Cursor[] = [];
  await inPieces(reading, begins, async (range) => {
    // Later ones alone can still be among the newest.
    const after = newest[limit - 1];
    const found = await storage.read((db) =>
      within(storage, db, filter, range, { after, before })
        .select(['received_ms', 'id'])
        // By the bare columns a planner may walk all rows in their order instead.
        .orderBy((row) => row('received_ms', '+', row.lit(0)), 'desc')
        .orderBy('id', 'desc')
        .limit(storage.dialect.constant(limit)),
    );
    newest = [...newest, ...found].sort(byNewest).slice(0, limit);
    return true;
  });
  return newest;
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
  look: (range: Range) => Promise<boolean>,
): Promise<void> {
  let below: Place | undefined;
  do {
    const from = await lastOfPiece(storage, begins, below);
    const goesOn = await look({ below, from });
    below = goesOn ? from : undefined;
    await clock.turn();
  } while (below !== undefined);
}

/** Undefined where no more is left than one piece: always on PostgreSQL, which runs elsewhere. */
async function lastOfPiece(
  storage: Storage,
  begins: string,
  below: Place | undefined,
): Promise<Place | undefined> {
  if (storage.kind === 'postgres') return undefined;
  const [last] = await storage.read((db) =>
    within(storage, db, { begins }, { below }, {})
      .select(['email', 'received_ms', 'id'])
      .orderBy('email', 'desc')
      .orderBy('received_ms', 'desc')
      .orderBy('id', 'desc')
      .limit(storage.dialect.constant(1))
      .offset(storage.dialect.constant(PIECE_ROWS - 1)),
  );
  return last;
}

function within(
  storage: Pick<Storage, 'dialect'>,
  db: Selects,
  filter: Beginning,
  { below, from }: Range,
  between: Between,
) {
  let query = matching(storage, db, filter, between);
  for (const [place, sign] of [[below, '<'] as const, [from, '>='] as const]) {
    if (place === undefined) continue;
    query = query.where((row) =>
      row(
        row.refTuple('email', 'received_ms', 'id'),
        sign,
        row.tuple(place.email, place.received_ms, place.id),
      ),
    );
  }
  return query;
}
