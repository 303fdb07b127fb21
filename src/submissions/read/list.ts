/**
 * Lists stored submissions for `inbox` and the console (reference §13.4, §12.7). Each query walks an index in the order
 * of the pages and ends after enough rows. A search for something rare reads all rows.
 */
import { isId } from '../../platform/random.ts';
import type { ReadOnly, Selects } from '../../storage/database.ts';
import type { Progress, SubmissionReason, SubmissionRow, SubmissionStatus } from '../../storage/schema.ts';
import type { Event } from '../../upstream/upstream.ts';
import { type Attempt, parseAttempts } from '../attempts.ts';
import { matching, type SubmissionFilter } from './filter.ts';

export type StoredSubmission = {
  receivedAt: string;
  /** The same time in milliseconds, as the cursor has it. */
  receivedMs: number;
  event: Event;
  status: SubmissionStatus;
  reason: SubmissionReason | null;
  progress: Progress;
  note: string | null;
  /** Null unless the status is `waiting`. */
  nextAttemptAt: string | null;
  attempts: Attempt[];
};

/** A number of rows. `isMore`: there are more than `COUNTED_ROWS`. */
export type Total = { isMore: boolean; count: number };

export type SubmissionPage = {
  items: StoredSubmission[];
  /** Total over all pages. */
  total: Total;
  /** Start of the next page. Undefined on the last page. */
  older: Cursor | undefined;
};

/** A position in the order of `received_ms` and `id`. */
export type Cursor = Pick<SubmissionRow, 'received_ms' | 'id'>;

/** Limit of a count (reference §12.7). */
export const COUNTED_ROWS = 10_000;

/** Rows of an export that are in memory at a time. */
const PAGE_ROWS = 500;

const MILLISECONDS = /^\d{1,15}(\.\d{1,6})?$/;

/** Returns a position as text for a page's address. PostgreSQL's clock has fractions of a millisecond. */
export function writeCursor({ received_ms, id }: Cursor): string {
  return `${received_ms}_${id}`;
}

/** Returns the position in a page's address, or undefined if the text is invalid. */
export function parseCursor(text: string): Cursor | undefined {
  const [ms = '', id = ''] = text.split(/_(.*)/s);
  return MILLISECONDS.test(ms) && isId(id) ? { received_ms: Number(ms), id } : undefined;
}

/**
 * Returns up to `limit` matching submissions after a position, newest first.
 * @throws StorageUnavailable
 */
export async function submissionPage(
  reader: ReadOnly,
  filter: SubmissionFilter,
  { before, limit }: { before?: Cursor | undefined; limit: number },
): Promise<SubmissionPage> {
  const rows = await reader.read(pageOf(reader, filter, { direction: 'desc', behind: before, limit: limit + 1 }));
  const isWhole = before === undefined && rows.length <= limit;
  const total = isWhole ? { isMore: false, count: rows.length } : await countUpTo(reader, filter);
  const here = rows.slice(0, limit);
  const last = rows.length > limit ? here.at(-1) : undefined;
  const older = last && { received_ms: last.received_ms, id: last.id };
  return { items: here.map(submissionOf), total, older };
}

/** Yields all matching submissions in pages: the oldest first with `asc`, the newest first with `desc`. */
export async function* submissionPages(
  reader: ReadOnly,
  filter: SubmissionFilter,
  direction: Part['direction'] = 'asc',
): AsyncGenerator<StoredSubmission[]> {
  let behind: Cursor | undefined;
  do {
    const rows = await reader.read(pageOf(reader, filter, { direction, behind, limit: PAGE_ROWS }));
    if (rows.length > 0) yield rows.map(submissionOf);
    behind = rows[PAGE_ROWS - 1];
  } while (behind !== undefined);
}

const NIL_UUID = '00000000-0000-0000-0000-000000000000';
const LAST_UUID = 'ffffffff-ffff-ffff-ffff-ffffffffffff';

/** Returns at most two submissions whose id has this prefix. Two results show that the prefix is ambiguous. */
export async function findSubmissions(reader: ReadOnly, idBegins: string): Promise<StoredSubmission[]> {
  const begins = idBegins.toLowerCase();
  const least = begins + NIL_UUID.slice(begins.length);
  if (begins === '' || !isId(least)) return [];
  const last = begins + LAST_UUID.slice(begins.length);
  const rows = await reader.read((db) =>
    db
      .selectFrom('submissions')
      .select(columns)
      .where('id', '>=', least)
      .where('id', '<=', last)
      .orderBy('id')
      .limit(2),
  );
  return rows.map(submissionOf);
}

/** Counts matching submissions up to `COUNTED_ROWS`. */
async function countUpTo(reader: ReadOnly, filter: SubmissionFilter): Promise<Total> {
  const [counted] = await reader.read((db) => {
    const some = matching(reader, db, filter)
      .select('received_ms')
      .limit(reader.dialect.constant(COUNTED_ROWS + 1));
    // With an order, the database reads the texts from the index, if it has them. The table is larger.
    const isOrdered = filter.status !== undefined && reader.dialect.listedHasText;
    const ordered = isOrdered ? some.orderBy('received_ms', 'desc') : some;
    return db.selectFrom(ordered.as('some')).select((row) => row.fn.countAll<number>().as('rows'));
  });
  const rows = Number(counted?.rows ?? 0);
  return { isMore: rows > COUNTED_ROWS, count: Math.min(rows, COUNTED_ROWS) };
}

const columns = [
  'submissions.id',
  'submissions.received_ms',
  'submissions.event',
  'submissions.status',
  'submissions.reason',
  'submissions.progress',
  'submissions.note',
  'submissions.next_attempt_ms',
  'submissions.attempts',
] as const;

/** Up to `limit` rows in a direction after a position. */
type Part = { direction: 'asc' | 'desc'; behind?: Cursor | undefined; limit: number };

/** Returns a part of the matching submissions. */
export async function submissionsOf(
  reader: ReadOnly,
  filter: SubmissionFilter,
  part: Part,
): Promise<StoredSubmission[]> {
  return (await reader.read(pageOf(reader, filter, part))).map(submissionOf);
}

/** Returns a query for the positions of a part, in an index. */
export function positionsOf(reader: ReadOnly, filter: SubmissionFilter, { direction, behind, limit }: Part) {
  const isNewest = direction === 'desc';
  return (db: Selects) => {
    let positions = matching(reader, db, filter).select(['received_ms', 'id']);
    if (behind !== undefined) {
      const { received_ms: ms, id } = behind;
      // The query has two simple bounds, because PostgreSQL expects that comparing pairs matches a third of all rows.
      positions = positions.where('received_ms', isNewest ? '<=' : '>=', ms).where((row) => {
        const further = isNewest ? '<' : '>';
        return row.or([row('received_ms', further, ms), row('id', further, id)]);
      });
    }
    return positions.orderBy('received_ms', direction).orderBy('id', direction).limit(reader.dialect.constant(limit));
  };
}

/** Returns a query that finds the positions of the rows in an index, and then reads the rows. */
function pageOf(reader: ReadOnly, filter: SubmissionFilter, part: Part) {
  const { direction } = part;
  return (db: Selects) => {
    const page = positionsOf(reader, filter, part)(db);
    return db
      .selectFrom(page.as('place'))
      .innerJoin('submissions', 'submissions.id', 'place.id')
      .select(columns)
      .orderBy('place.received_ms', direction)
      .orderBy('place.id', direction);
  };
}

type Row = Pick<
  SubmissionRow,
  'id' | 'received_ms' | 'event' | 'status' | 'reason' | 'progress' | 'note' | 'next_attempt_ms' | 'attempts'
>;

function submissionOf(row: Row): StoredSubmission {
  const { status, reason, progress, note, next_attempt_ms: nextMs } = row;
  return {
    receivedAt: new Date(row.received_ms).toISOString(),
    receivedMs: row.received_ms,
    event: JSON.parse(row.event) as Event,
    status,
    reason,
    progress,
    note,
    nextAttemptAt: status === 'waiting' && nextMs !== null ? new Date(nextMs).toISOString() : null,
    attempts: parseAttempts(row.attempts),
  };
}

/** Returns the row of a submission, or undefined if no row has this id. */
export async function findSubmission(reader: ReadOnly, id: string): Promise<SubmissionRow | undefined> {
  return (await reader.read((db) => db.selectFrom('submissions').selectAll().where('id', '=', id)))[0];
}
