import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { findBeginning } from '../../src/submissions/address-search.ts';
import { submissionPage, submissionPages } from '../../src/submissions/listing.ts';
import {
  type Cursor,
  countOf,
  type SubmissionFilter,
} from '../../src/submissions/listing-queries.ts';
import { parseSearch } from '../../src/submissions/search.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';

const START = Date.UTC(2026, 7, 20, 21, 30);
const MINUTE_MS = 60_000;
const forms = ['contact', 'homeowner_quote', 'newsletter'] as const;
const statuses = ['delivered', 'waiting', 'undelivered', 'dismissed'] as const;
const origins = ['browser', 'agent'] as const;
const beginnings = ['a', 'ab', 'abc', 'b', 'c%', 'c'] as const;

/** Several at one moment, whose ids do not follow the order of time. */
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

const newestFirst = (one: Row, other: Row) =>
  other.received_ms - one.received_ms || (one.id < other.id ? 1 : -1);
const isBehind = (row: Row, { received_ms, id }: Cursor) =>
  row.received_ms < received_ms || (row.received_ms === received_ms && row.id < id);

const maybe = <T>(values: readonly T[]) =>
  fc.option(fc.constantFrom(...values), { nil: undefined });
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

/** What is typed, and whether it means a row. */
const searches = fc.oneof(
  fc.constant(undefined),
  fc.constantFrom(...beginnings, 'ab1@', 'abc3@example.com', 'c%', 'd').map((typed) => ({
    typed,
    means: (row: Row) => row.email.startsWith(typed) || mentions(row, [typed]),
  })),
  fc.constantFrom('straße', 'STRASSE', 'weg 1', '19 weg', 'example').map((typed) => ({
    typed,
    means: (row: Row) => mentions(row, typed.toLowerCase().split(' ')),
  })),
);
const mentions = ({ name, email }: Row, words: readonly string[]) =>
  words.every((word) => !word.includes('@') && `${name}\n${email}`.toLowerCase().includes(word));

describe.each(databases)('whatever is filtered and looked for, on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(testClock());
    await keepRows(
      storage,
      rows.map(({ number: _, email, name, ...row }) =>
        submissionRow({ ...row, fields: { name, email } }),
      ),
    );
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });
  const reading = () => ({ storage, clock: systemClock });

  test('page after page has each once, newest first, and says how many there are; an export is the same from the oldest on', async () => {
    await fc.assert(
      fc.asyncProperty(
        filters,
        searches,
        fc.integer({ min: 7, max: 120 }),
        async (filter, search, limit) => {
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
            const page = await submissionPage(reading(), wanted, { before, limit });
            expect(page.total).toEqual({ isMore: false, count: expected.length });
            found.push(...page.items.map(({ event }) => event.data.id));
            before = page.older;
          } while (before !== undefined && found.length <= expected.length);
          expect(found).toEqual(expected);
          const exported: string[] = [];
          for await (const page of submissionPages(reading(), { ...filter, search: typed })) {
            exported.push(...page.map(({ event }) => event.data.id));
          }
          expect(exported).toEqual(expected.toReversed());
        },
      ),
      { numRuns: 60 },
    );
  });

  test('are counted up to a bound, and no further', async () => {
    await fc.assert(
      fc.asyncProperty(filters, fc.integer({ min: -2, max: 2 }), async (filter, more) => {
        const all = rows.filter(isFiltered(filter)).length;
        const atMost = Math.max(all + more, 1);
        const [counted] = await storage.read(countOf(storage, filter, atMost));
        expect(Number(counted?.rows)).toBe(Math.min(all, atMost));
      }),
      { numRuns: 60 },
    );
  });

  test('addresses that begin so are found in every way alike, from every place on', async () => {
    await fc.assert(
      fc.asyncProperty(
        filters,
        fc.constantFrom(...beginnings, 'd'),
        fc.tuple(maybe(rows), maybe(rows)),
        fc.record({
          limit: fc.integer({ min: 0, max: 60 }),
          atMost: fc.integer({ min: 1, max: 200 }),
        }),
        fc.record({
          many: fc.constantFrom(1, 20, 1_000),
          few: fc.constantFrom(0, 30, 1_000),
        }),
        async (filter, begins, places, { limit, atMost }, sizes) => {
          const [below, from] = places.toSorted((one, other) =>
            one && other ? newestFirst(one, other) : one ? -1 : 1,
          );
          const before = from ?? below;
          const all = rows
            .filter(isFiltered(filter))
            .filter((row) => row.email.startsWith(begins) && (!below || isBehind(row, below)))
            .sort(newestFirst);
          const keys = all
            .filter((row) => !before || isBehind(row, before))
            .slice(0, limit)
            .map(({ received_ms, id }) => ({ received_ms, id }));
          const wanted = { below, before, limit, atMost, sizes };
          expect(await findBeginning(reading(), { ...filter, begins }, wanted)).toEqual({
            keys,
            count: Math.min(all.length, atMost),
          });
        },
      ),
      { numRuns: 150 },
    );
  });
});
