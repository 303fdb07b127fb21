import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Storage } from '../../../src/storage/database.ts';
import type { SubmissionFilter } from '../../../src/submissions/read/filter.ts';
import { type Cursor, submissionPage, submissionPages } from '../../../src/submissions/read/list.ts';
import { parseSearch } from '../../../src/submissions/read/search.ts';
import { testClock } from '../../support/clock.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { keepRows, submissionRow } from '../../support/submissions.ts';

const START = Date.UTC(2026, 7, 20, 21, 30);
const MINUTE_MS = 60_000;
const forms = ['contact', 'homeowner_quote', 'newsletter'] as const;
const statuses = ['delivered', 'waiting', 'undelivered', 'dismissed'] as const;
const origins = ['browser', 'agent'] as const;
const beginnings = ['a', 'ab', 'abc', 'b', 'c%', 'c'] as const;

/** Rows of which several share a time, with ids in another order than time. */
const rows = Array.from({ length: 300 }, (_, number) => {
  const begins = beginnings[(number * 7) % beginnings.length] ?? '';
  return {
    number,
    form: forms[(number * 5) % 3] ?? 'contact',
    origin: origins[Number(number % 4 === 0)] ?? 'browser',
    status: statuses[number % 11 > 3 ? 0 : number % 11] ?? 'delivered',
    email: `${begins}${number % 10}@example.com`,
    name: `${number % 3 === 0 ? 'Straße' : 'Weg'} ${number % 20}`,
    received_ms: START + Math.floor(number / 7) * MINUTE_MS,
    id: `0190a000-0000-7000-8000-${String((number * 101) % 1_009).padStart(12, '0')}`,
  };
});
type Row = (typeof rows)[number];

const newestFirst = (one: Row, other: Row) => other.received_ms - one.received_ms || (one.id < other.id ? 1 : -1);

const maybe = <T>(values: readonly T[]) => fc.option(fc.constantFrom(...values), { nil: undefined });
const time = fc.option(
  fc.integer({ min: -1, max: 45 }).map((minutes) => new Date(START + minutes * MINUTE_MS)),
  { nil: undefined },
);
const filters = fc.record({
  status: maybe(statuses),
  form: maybe(forms),
  origin: maybe(origins),
  since: time,
  until: time,
});
const isFiltered =
  ({ status, form, origin, since, until }: SubmissionFilter) =>
  (row: Row) =>
    (status ?? row.status) === row.status &&
    (form ?? row.form) === row.form &&
    (origin ?? row.origin) === row.origin &&
    (since === undefined || row.received_ms >= since.getTime()) &&
    (until === undefined || row.received_ms < until.getTime());

/** Search texts with a predicate for matching rows. */
const searches = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom(...beginnings, 'ab1@', 'c%', 'STRAßE', 'weg 1', '19 weg', 'd').map((typed) => ({
    typed,
    means: ({ name, email, id }: Row) =>
      typed
        .toLowerCase()
        .split(' ')
        .every((word) => `${name}\n${email}\n${id}`.toLowerCase().includes(word)),
  })),
);

describe.each(databases)('arbitrary filters and searches on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(testClock());
    await keepRows(
      storage,
      rows.map(({ number: _, email, name, ...row }) => submissionRow({ ...row, fields: { name, email } })),
    );
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  test('lists each match once, newest first, with the total, and exports them oldest first', async () => {
    await fc.assert(
      fc.asyncProperty(filters, searches, fc.integer({ min: 7, max: 120 }), async (filter, search, limit) => {
        const expected = rows
          .filter(isFiltered(filter))
          .filter(search?.means ?? (() => true))
          .sort(newestFirst)
          .map(({ id }) => id);
        const found: string[] = [];
        const typed = search && parseSearch(search.typed);
        let before: Cursor | undefined;
        do {
          const wanted = { ...filter, search: typed };
          const page = await submissionPage(storage, wanted, { before, limit });
          expect(page.total).toEqual({ isMore: false, count: expected.length });
          found.push(...page.items.map(({ event }) => event.data.id));
          before = page.older;
        } while (before !== undefined && found.length <= expected.length);
        expect(found).toEqual(expected);
        const exported: string[] = [];
        for await (const page of submissionPages(storage, { ...filter, search: typed })) {
          exported.push(...page.map(({ event }) => event.data.id));
        }
        expect(exported).toEqual(expected.toReversed());
      }),
      { numRuns: 60 },
    );
  });
});
