/** The submissions that are kept, read for people: a list, one of them, or all of them in pages (beyond §1). */
import type { Storage } from '../storage/database.ts';
import type { SubmissionReason, SubmissionRow, SubmissionStatus } from '../storage/schema.ts';
import type { Event } from '../upstream/upstream.ts';
import { type Attempt, attemptsOf } from './attempts.ts';
import {
  type Cursor,
  idBeginning,
  newest,
  oldest,
  type SubmissionFilter,
} from './listing-queries.ts';
import { isFound, type Search } from './search.ts';

export type KeptSubmission = {
  receivedAt: string;
  event: Event;
  status: SubmissionStatus;
  reason: SubmissionReason | null;
  /** Null unless it waits. */
  nextAttemptAt: string | null;
  attempts: Attempt[];
};

/** So many rows are in memory at once, however many there are. */
const PAGE_ROWS = 500;

/** Words are looked for in so many, the newest of what is filtered (beyond §7). */
const WORDS_ROWS = 10_000;

type WordsFilter = SubmissionFilter & { search: Search & { kind: 'words' } };
type Row = Pick<
  SubmissionRow,
  'id' | 'received_ms' | 'event' | 'status' | 'reason' | 'next_attempt_ms' | 'attempts'
>;

/** The last `limit` of what is filtered, newest first. */
export async function latestSubmissions(
  storage: Storage,
  filter: SubmissionFilter,
  limit: number,
): Promise<KeptSubmission[]> {
  if (!looksForWords(filter)) {
    return (await storage.read(newest(storage, filter, limit))).map(submissionOf);
  }
  const { found, before } = await findWords(storage, filter, limit);
  const left = limit - found.length;
  const older =
    before === undefined || left === 0
      ? []
      : await storage.read(newest(storage, olderAddresses(filter), left, before));
  return [...found, ...older].map(submissionOf);
}

/** Those whose id begins like that: two at most, for one is wanted. */
export async function findSubmissions(
  storage: Storage,
  idBegins: string,
): Promise<KeptSubmission[]> {
  const beginning = idBeginning(idBegins);
  if (beginning === undefined) return [];
  const rows = await storage.read((db) => beginning(db).orderBy('id').limit(2));
  return rows.map(submissionOf);
}

/** All of what is filtered, oldest first, a page at a time. */
export async function* submissionPages(
  storage: Storage,
  filter: SubmissionFilter,
): AsyncGenerator<KeptSubmission[]> {
  if (!looksForWords(filter)) return yield* pagesOf(storage, filter, undefined);
  const { found, before } = await findWords(storage, filter, WORDS_ROWS);
  if (before !== undefined) yield* pagesOf(storage, olderAddresses(filter), before);
  if (found.length > 0) yield found.reverse().map(submissionOf);
}

async function* pagesOf(
  storage: Storage,
  filter: SubmissionFilter,
  before: Cursor | undefined,
): AsyncGenerator<KeptSubmission[]> {
  let after: Cursor | undefined;
  do {
    const rows: Row[] = await storage.read(oldest(storage, filter, PAGE_ROWS, { after, before }));
    if (rows.length > 0) yield rows.map(submissionOf);
    after = rows[PAGE_ROWS - 1];
  } while (after !== undefined);
}

/** Up to `limit` rows, newest first; and, where there may be older ones, the last that was looked at. */
async function findWords(storage: Storage, { search, ...filter }: WordsFilter, limit: number) {
  const found: Row[] = [];
  let before: Cursor | undefined;
  for (let seen = 0; seen < WORDS_ROWS; seen += PAGE_ROWS) {
    const rows: Row[] = await storage.read(newest(storage, filter, PAGE_ROWS, before));
    for (const row of rows) {
      if (!isFound(search, eventOf(row).data.fields)) continue;
      found.push(row);
      if (found.length === limit) return { found, before: row };
    }
    before = rows[PAGE_ROWS - 1];
    if (before === undefined) break;
  }
  return { found, before };
}

function looksForWords(filter: SubmissionFilter): filter is WordsFilter {
  return filter.search?.kind === 'words';
}

/** Beyond the rows in which words are looked for, the beginning of an address is found all the same. */
function olderAddresses({ search, ...filter }: WordsFilter): SubmissionFilter {
  return { ...filter, search: { kind: 'address', begins: search.begins } };
}

function eventOf({ event }: Pick<Row, 'event'>): Event {
  return JSON.parse(event) as Event;
}

function submissionOf(row: Row): KeptSubmission {
  const { status, reason, next_attempt_ms: nextMs } = row;
  return {
    receivedAt: new Date(row.received_ms).toISOString(),
    event: eventOf(row),
    status,
    reason,
    nextAttemptAt: status === 'waiting' && nextMs !== null ? new Date(nextMs).toISOString() : null,
    attempts: attemptsOf(row.attempts),
  };
}
