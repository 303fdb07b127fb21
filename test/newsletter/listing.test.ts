/** Lists, exports and counts of subscribers (reference §13.5, §12.13). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import {
  countSubscribers,
  exportSubscribers,
  listSubscribers,
  type SubscriberFilter,
  subscriberFormats,
  subscriberOf,
} from '../../src/newsletter/listing.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubscriberRow, SubscriberStatus } from '../../src/storage/schema.ts';
import { COUNTED_ROWS } from '../../src/submissions/read/list.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';

const AT = '2026-09-01T12:00:00.000Z';
const SITE = 'https://site.example';

const idOf = (number: number) => `01900000-0000-7000-8000-${String(number).padStart(12, '0')}`;

function row(number: number, email: string, status: SubscriberStatus = 'confirmed'): SubscriberRow {
  return {
    id: idOf(number),
    email,
    contractor: 'acme',
    status,
    made_by: 'anybody',
    confirm_token: `confirm-${number}`,
    leave_token: `leave-${number}`,
    created_at: AT,
    consent_recorded_at: AT,
    expires_at: null,
    confirmed_at: status === 'pending' ? null : AT,
    unsubscribed_at: null,
  };
}

const LISTED = [
  row(1, 'ada@example.com'),
  row(2, 'zoe@example.com', 'pending'),
  row(3, 'ada.lovelace@example.com'),
  row(4, 'adam@example.com', 'unsubscribed'),
  row(5, 'bea@example.com'),
  row(6, 'ada@example.com.au', 'pending'),
  row(7, 'ad@example.com'),
];

/** Rows in a statement. SQLite allows 32,766 values, and a row has 12. */
const ROWS_AT_ONCE = 2_000;

async function insert(storage: Storage, rows: readonly SubscriberRow[]): Promise<void> {
  for (let from = 0; from < rows.length; from += ROWS_AT_ONCE) {
    const some = rows.slice(from, from + ROWS_AT_ONCE);
    await storage.write((tx) => tx.insertInto('subscribers').values(some).execute());
  }
}

describe.each(databases)('on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(testClock());
    await insert(storage, LISTED);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  /** Returns the numbers of the subscribers of each page. */
  async function pagesOf(filter: SubscriberFilter, limit: number): Promise<number[][]> {
    const pages: number[][] = [];
    let cursor: string | undefined;
    do {
      const { subscribers, next } = await listSubscribers(storage, filter, limit, cursor);
      pages.push(subscribers.map(({ id }) => Number(id.slice(-12))));
      if (next !== undefined) expect(next).toBe(subscribers.at(-1)?.id);
      cursor = next;
    } while (cursor !== undefined);
    return pages;
  }

  test.each<[string, SubscriberFilter, number, number[][]]>([
    ['the newest first, and a last page that is not full', {}, 3, [[7, 6, 5], [4, 3, 2], [1]]],
    ['one page if its limit is exactly their number', {}, 7, [[7, 6, 5, 4, 3, 2, 1]]],
    [
      'those of a status',
      { status: 'confirmed' },
      2,
      [
        [7, 5],
        [3, 1],
      ],
    ],
    [
      'those whose address begins with the search, by address',
      { search: 'ada' },
      2,
      [
        [3, 1],
        [6, 4],
      ],
    ],
    ['the same for a search with blanks and capitals', { search: ' ADA ' }, 4, [[3, 1, 6, 4]]],
    ['those of a whole address, and those that it begins', { search: 'Ada@Example.com' }, 4, [[1, 6]]],
    ['those of a search and a status', { search: 'ad', status: 'confirmed' }, 2, [[7, 3], [1]]],
    ['nobody for another search', { search: 'nobody' }, 2, [[]]],
  ])('lists %s', async (_what, filter, limit, pages) => {
    expect(await pagesOf(filter, limit)).toEqual(pages);
  });

  test('ends a search if the subscriber of its cursor is erased', async () => {
    expect(await listSubscribers(storage, { search: 'ada' }, 2, idOf(99))).toEqual({
      subscribers: [],
      next: undefined,
    });
  });

  test('a list has no token, and an export only the link to unsubscribe', async () => {
    const { subscribers } = await listSubscribers(storage, {}, 1);
    const shown = { id: idOf(7), email: 'ad@example.com', contractor: 'acme', status: 'confirmed' };
    const times = { created_at: AT, consent_recorded_at: AT, confirmed_at: AT, unsubscribed_at: null };
    expect(subscribers).toEqual([{ ...shown, ...times }]);
    const exported = await Array.fromAsync(exportSubscribers(storage, {}, SITE));
    expect(exported[0]?.[0]).toEqual({ ...shown, ...times, unsubscribe_url: `${SITE}/newsletter/leave/leave-7` });
  });

  test.each<[string, Parameters<typeof exportSubscribers>[1], number[]]>([
    ['only confirmed subscribers without a status', {}, [7, 5, 3, 1]],
    ['those of a status', { status: 'pending' }, [6, 2]],
    ['all', { status: 'all' }, [7, 6, 5, 4, 3, 2, 1]],
    ['those of a search', { status: 'all', search: 'ada' }, [3, 1, 6, 4]],
  ])('exports %s', async (_what, filter, numbers) => {
    const pages = await Array.fromAsync(exportSubscribers(storage, filter, SITE));
    expect(pages.flat().map(({ id }) => Number(id.slice(-12)))).toEqual(numbers);
  });

  test('finds a subscriber by the whole address only', async () => {
    expect(await subscriberOf(storage, 'ada@example.com')).toMatchObject({ id: idOf(1), status: 'confirmed' });
    expect(await subscriberOf(storage, 'ada')).toBeUndefined();
  });

  test('counts each status', async () => {
    expect(await countSubscribers(storage)).toEqual({ pending: 2, confirmed: 4, unsubscribed: 1 });
  });
});

describe.each(databases)('many subscribers, on %s', (_name, create) => {
  test('are exported once each, and counted up to one more than the limit', async () => {
    const database = await create();
    const storage = await database.open(testClock());
    expect(await countSubscribers(storage)).toEqual({ pending: 0, confirmed: 0, unsubscribed: 0 });
    const pending = Array.from({ length: 1_001 }, (_, at) => row(at, `reader-${at}@example.com`, 'pending'));
    await insert(storage, pending);
    for (const search of [undefined, 'reader-']) {
      const pages = await Array.fromAsync(exportSubscribers(storage, { status: 'pending', search }, SITE));
      expect(pages.map((page) => page.length)).toEqual([500, 500, 1]);
      expect(new Set(pages.flat().map(({ id }) => id)).size).toBe(1_001);
    }
    const confirmed = Array.from({ length: COUNTED_ROWS + 2 }, (_, at) => row(2_000 + at, `more-${at}@example.com`));
    await insert(storage, confirmed);
    expect(await countSubscribers(storage)).toEqual({ pending: 1_001, confirmed: COUNTED_ROWS + 1, unsubscribed: 0 });
    await storage.close();
    await database.remove();
  });
});

test('the formats of an export have local times in the CSV, and one object a line otherwise', () => {
  const { head, csv, jsonl } = subscriberFormats('Europe/Berlin');
  const times = { created_at: AT, consent_recorded_at: AT, confirmed_at: null, unsubscribed_at: null };
  const one = { id: idOf(1), email: 'a@example.com', contractor: 'acme', status: 'pending', ...times } as const;
  const exported = { ...one, unsubscribe_url: 'https://site.example/x' };
  expect(head).toBe(
    '\uFEFFemail,contractor,status,created_at,consent_recorded_at,confirmed_at,unsubscribed_at,unsubscribe_url\r\n',
  );
  expect(csv(exported)).toBe(
    'a@example.com,acme,pending,2026-09-01 14:00:00,2026-09-01 14:00:00,,,https://site.example/x\r\n',
  );
  const { id: _, ...written } = exported;
  expect(jsonl(exported)).toBe(`${JSON.stringify(written)}\n`);
});
