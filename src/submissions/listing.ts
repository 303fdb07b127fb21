/**
 * The submissions that are kept, read for people: a page of them with how many there are, one of them, or all of
 * them (beyond §1, §7). What `inbox` lists and what the console shows is read here, by the same queries.
 */
import type { SubmissionReason, SubmissionRow, SubmissionStatus } from '../storage/schema.ts';
import type { Event } from '../upstream/upstream.ts';
import { countBeginning, findBeginning } from './address-search.ts';
import { type Attempt, attemptsOf } from './attempts.ts';
import {
  type Cursor,
  countOf,
  type Filter,
  idBeginning,
  keysOf,
  rowsAt,
  type SubmissionFilter,
} from './listing-queries.ts';
import { inTurn, oldestPieces, pieceRows, type Reading } from './pieces.ts';
import { findWords, forgetWords } from './word-search.ts';

export type KeptSubmission = {
  receivedAt: string;
  event: Event;
  status: SubmissionStatus;
  reason: SubmissionReason | null;
  /** Null unless it waits. */
  nextAttemptAt: string | null;
  attempts: Attempt[];
};

/** How many there are: more than are counted, or so many. */
export type Total = { isMore: boolean; count: number };

export type SubmissionPage = {
  items: KeptSubmission[];
  /** Of everything that is filtered, whichever page this is. */
  total: Total;
  /** Where the next page begins; undefined where this is the last. */
  older: Cursor | undefined;
};

/** More are never counted (beyond §7). */
export const COUNTED_ROWS = 10_000;

/** So many rows are in memory at once, however many there are. */
const PAGE_ROWS = 500;

/** A walk that looks each row up. */
const WALKED_ROWS = 1_000;

type Row = Pick<
  SubmissionRow,
  'id' | 'received_ms' | 'event' | 'status' | 'reason' | 'next_attempt_ms' | 'attempts'
>;
type Wanted = { before?: Cursor | undefined; limit: number };

/** Up to `limit` of what is filtered, newest first, from behind a place on. Throws `StorageUnavailable`. */
export async function submissionPage(
  reading: Reading,
  filter: SubmissionFilter,
  { before, limit }: Wanted,
): Promise<SubmissionPage> {
  const { keys, total } = await lookFor(reading, filter, { before, limit: limit + 1 });
  const here = keys.slice(0, limit);
  const items = await submissionsAt(reading, here);
  if (items.length < here.length && forgetWords(reading.storage)) {
    return submissionPage(reading, filter, { before, limit });
  }
  return {
    items,
    total: { isMore: total > COUNTED_ROWS, count: Math.min(total, COUNTED_ROWS) },
    older: keys.length > limit ? here.at(-1) : undefined,
  };
}

/** Those whose id begins like that: two at most, for one is wanted. */
export async function findSubmissions(
  { storage }: Pick<Reading, 'storage'>,
  idBegins: string,
): Promise<KeptSubmission[]> {
  const beginning = idBeginning(idBegins);
  if (beginning === undefined) return [];
  const rows = await storage.read((db) => beginning(db).orderBy('id').limit(2));
  return rows.map(submissionOf);
}

/** All of what is filtered, oldest first, a page at a time. */
export async function* submissionPages(
  reading: Reading,
  filter: SubmissionFilter,
): AsyncGenerator<KeptSubmission[]> {
  const { search, ...rest } = filter;
  if (search?.kind === 'address') return yield* beginningPages(reading, rest, search.begins);
  if (search?.kind !== 'words') return yield* pagesOf(reading, { ...rest, search }, undefined);
  const { found, end } = await findWords(reading, rest, search);
  if (end !== undefined) yield* beginningPages(reading, rest, search.begins, end);
  yield* pagesAt(reading, found.toReversed());
}

/** The first places of what is looked for, and how many there are: up to one more than is counted. */
async function lookFor(reading: Reading, filter: SubmissionFilter, { before, limit }: Wanted) {
  const { storage } = reading;
  const { search, ...rest } = filter;
  const atMost = COUNTED_ROWS + 1;
  if (search?.kind === 'address') {
    const beginning = { ...rest, begins: search.begins };
    const { keys, count } = await findBeginning(reading, beginning, { before, limit, atMost });
    return { keys, total: count };
  }
  if (search?.kind !== 'words') {
    const plain = { ...rest, search };
    const part = { before, limit, direction: 'desc' } as const;
    const keys = await storage.read(keysOf(storage, plain, part));
    const [counted] = await inTurn(reading, () => storage.read(countOf(storage, plain, atMost)));
    return { keys, total: Number(counted?.rows) };
  }
  const { found, end } = await findWords(reading, rest, search);
  const keys = found.filter((key) => before === undefined || isOlder(key, before)).slice(0, limit);
  if (end === undefined) return { keys, total: found.length };
  // Beyond the rows in which words are looked for, the beginning of an address is found all the same.
  const beginning = { ...rest, begins: search.begins };
  const { keys: older, count } = await findBeginning(reading, beginning, {
    below: end,
    before: before !== undefined && isOlder(before, end) ? before : end,
    limit: limit - keys.length,
    atMost,
  });
  return { keys: [...keys, ...older], total: found.length + count };
}

function isOlder(one: Cursor, other: Cursor): boolean {
  if (one.received_ms !== other.received_ms) return one.received_ms < other.received_ms;
  return one.id < other.id;
}

async function* pagesOf(
  reading: Reading,
  filter: Filter,
  before: Cursor | undefined,
): AsyncGenerator<KeptSubmission[]> {
  const { storage } = reading;
  let after: Cursor | undefined;
  do {
    const part = { after, before, direction: 'asc', limit: PAGE_ROWS } as const;
    const keys: Cursor[] = await inTurn(reading, () => storage.read(keysOf(storage, filter, part)));
    if (keys.length > 0) yield await inTurn(reading, () => submissionsAt(reading, keys));
    after = keys[PAGE_ROWS - 1];
  } while (after !== undefined);
}

/** Few are sorted; more are met by a walk along all, which ends. */
async function* beginningPages(
  reading: Reading,
  filter: Filter,
  begins: string,
  before?: Cursor,
): AsyncGenerator<KeptSubmission[]> {
  const beginning = { ...filter, begins };
  const count = await countBeginning(reading, { begins }, { atMost: COUNTED_ROWS + 1 });
  if (count > COUNTED_ROWS) return yield* walkedPages(reading, beginning, before);
  const wanted = { before, limit: COUNTED_ROWS, atMost: 0 };
  const { keys } = await findBeginning(reading, beginning, wanted);
  yield* pagesAt(reading, keys.reverse());
}

async function* walkedPages(
  reading: Reading,
  { begins, ...filter }: Filter & { begins: string },
  before: Cursor | undefined,
): AsyncGenerator<KeptSubmission[]> {
  const { storage } = reading;
  for await (const piece of oldestPieces(reading, filter, { rows: WALKED_ROWS, before })) {
    const part = { ...piece, direction: 'asc', limit: pieceRows(storage, WALKED_ROWS) } as const;
    const query = keysOf(storage, { ...filter, beginning: begins }, part);
    yield* pagesAt(reading, await inTurn(reading, () => storage.read(query)));
  }
}

async function* pagesAt(
  reading: Reading,
  keys: readonly Cursor[],
): AsyncGenerator<KeptSubmission[]> {
  for (let from = 0; from < keys.length; from += PAGE_ROWS) {
    const page = keys.slice(from, from + PAGE_ROWS);
    yield await inTurn(reading, () => submissionsAt(reading, page));
  }
}

/** In the order of the places; what was removed meanwhile is left out. */
async function submissionsAt(
  { storage }: Pick<Reading, 'storage'>,
  keys: readonly Cursor[],
): Promise<KeptSubmission[]> {
  if (keys.length === 0) return [];
  const rows = new Map((await storage.read(rowsAt(keys))).map((row) => [row.id, row]));
  return keys.flatMap(({ id }) => {
    const row = rows.get(id);
    return row === undefined ? [] : [submissionOf(row)];
  });
}

function submissionOf(row: Row): KeptSubmission {
  const { status, reason, next_attempt_ms: nextMs } = row;
  return {
    receivedAt: new Date(row.received_ms).toISOString(),
    event: JSON.parse(row.event) as Event,
    status,
    reason,
    nextAttemptAt: status === 'waiting' && nextMs !== null ? new Date(nextMs).toISOString() : null,
    attempts: attemptsOf(row.attempts),
  };
}
