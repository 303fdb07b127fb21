import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Storage } from '../../../src/storage/database.ts';
import type { SubmissionRow } from '../../../src/storage/schema.ts';
import type { SubmissionFilter } from '../../../src/submissions/read/filter.ts';
import {
  type Cursor,
  findSubmissions,
  parseCursor,
  submissionPage,
  submissionPages,
  writeCursor,
} from '../../../src/submissions/read/list.ts';
import { parseSearch } from '../../../src/submissions/read/search.ts';
import { testClock } from '../../support/clock.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { keepRows, submissionRow } from '../../support/submissions.ts';

const id = (number: number) => `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const numberOf = (of: string) => Number(of.slice(-12));
const at = (minute: number) => new Date(Date.UTC(2026, 8, 1, 12, minute)).toISOString();
const ada = { name: 'Ada', email: 'ada@example.com', message: 'Two rooms' };

const clients = [{ name: 'other' }, { name: 'Acme Assistant', label: 'Painting Helper' }];

/** In order of arrival. The last two share a time. */
const rows: SubmissionRow[] = [
  submissionRow({ id: id(1), receivedAt: at(1), stored_here: 1, fields: ada }),
  submissionRow({
    id: id(2),
    receivedAt: at(2),
    form: 'homeowner_quote',
    fields: { ...ada, email: 'adam@example.com', phone: '+1 (555) 010-0' },
    status: 'waiting',
    step: 1,
    next_attempt_ms: Date.parse(at(30)),
    attempts: [{ outcome: 'rateLimited', ms: 3 }],
  }),
  submissionRow({
    id: id(3),
    receivedAt: at(3),
    form: 'homeowner_quote',
    origin: 'agent',
    data: { client: 'Acme Assistant' },
    status: 'undelivered',
    reason: 'execution_failed',
    fields: { name: 'Eve', email: 'eve@example.com', phone: '1/555.0100 ext. 7' },
  }),
  submissionRow({
    id: id(4),
    receivedAt: at(4),
    status: 'sending',
    resumed_status: 'waiting',
    next_attempt_ms: Date.parse(at(40)),
    fields: { name: 'Ada', email: 'x_y%@example.com', message: '100% off_white' },
  }),
  submissionRow({ id: id(5), receivedAt: at(5), fields: {}, status: 'dismissed', reason: 'spam' }),
  submissionRow({
    id: id(6),
    receivedAt: at(5),
    form: 'newsletter',
    subscriber: 'eve@example.com',
    fields: { email: 'eve@example.com' },
  }),
];

describe.each(databases)('submissionPage, submissionPages and findSubmissions on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;

  beforeAll(async () => {
    database = await create();
    storage = await database.open(testClock());
    await keepRows(storage, rows);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const latest = async (filter: SubmissionFilter, limit = 20) =>
    (await submissionPage(storage, filter, { limit })).items.map(({ event }) => numberOf(event.data.id));
  const exported = async (filter: SubmissionFilter) => {
    const found: number[] = [];
    for await (const page of submissionPages(storage, filter)) {
      expect(page).not.toEqual([]);
      found.push(...page.map(({ event }) => numberOf(event.data.id)));
    }
    return found;
  };
  const search = (typed: string): SubmissionFilter => ({ search: parseSearch(typed) });

  test.each<[string, SubmissionFilter, number[]]>([
    ['everything', {}, [6, 5, 4, 3, 2, 1]],
    ['a form', { form: 'homeowner_quote' }, [3, 2]],
    ['an origin', { origin: 'browser' }, [6, 5, 4, 2, 1]],
    ['a form of an origin', { form: 'homeowner_quote', origin: 'agent' }, [3]],
    ['a form without submissions', { form: 'contractor_signup' }, []],
    ['delivered', { status: 'delivered' }, [6, 1]],
    ['delivered, of a form', { status: 'delivered', form: 'contact' }, [1]],
    ['being sent', { status: 'sending' }, [4]],
    ['waiting', { status: 'waiting' }, [2]],
    ['undelivered, of browsers', { status: 'undelivered', origin: 'browser' }, []],
    ['dismissed', { status: 'dismissed' }, [5]],
    ['since a time, inclusive', { since: new Date(at(5)) }, [6, 5]],
    ['until a time, exclusive', { until: new Date(at(3)) }, [2, 1]],
    ['between two times', { since: new Date(at(2)), until: new Date(at(4)), form: 'contact' }, []],
    ['one person', { email: 'eve@example.com' }, [6, 3]],
    ['a reference', search(id(4).toUpperCase()), [4]],
    ['part of a reference', search('0000-7000'), [6, 5, 4, 3, 2, 1]],
    ['the name of an agent', search('acme'), [3]],
    ['a telephone number by its digits', search('+1(555)0100'), [3, 2]],
    ['a telephone number as two words', search('555 0100'), [3, 2]],
    ['part of a telephone number', search('5550100'), [3, 2]],
    ['more digits than the telephone number has', search('555-01008'), []],
    ['letters before a telephone number', search('room555-0100'), []],
    ['letters behind a telephone number', search('555-0100x'), []],
    ['a word of the label of a client', { search: parseSearch('helper', clients) }, [3]],
    ['two digits with punctuation', search('-0'), [6, 5, 4, 3, 2, 1]],
    ['an address', search('ADA@ex'), [1]],
    ['characters that are wildcards in SQL', search('x_y%@'), [4]],
    ['a percent sign, not as a wildcard', search('%@'), [4]],
    ['an underscore, not as a wildcard', search('x_y_'), []],
    ['a backslash', search('ro\\oms'), []],
    ['a word in any field', search('ada'), [4, 2, 1]],
    ['two words', search('two ROOMS'), [2, 1]],
    ['words from two fields', search('ada rooms'), [2, 1]],
    ['a word with an underscore', search('off_w'), [4]],
    ['a word that occurs nowhere', search('off-w'), []],
    ['words with a status', { ...search('ada'), status: 'waiting' }, [2]],
    ['words of one person', { ...search('7'), email: 'eve@example.com' }, [6, 3]],
  ])('lists newest first and exports oldest first: %s', async (_what, filter, numbers) => {
    expect(await latest(filter)).toEqual(numbers);
    expect(await latest(filter, 1)).toEqual(numbers.slice(0, 1));
    expect((await submissionPage(storage, filter, { limit: numbers.length })).older).toBeUndefined();
    expect(await exported(filter)).toEqual(numbers.toReversed());
  });

  test('returns status and attempts, and the next attempt’s time only for waiting rows', async () => {
    const [, , sending, , waiting] = (await submissionPage(storage, {}, { limit: 5 })).items;
    expect(waiting).toMatchObject({
      receivedAt: at(2),
      status: 'waiting',
      reason: null,
      nextAttemptAt: at(30),
      attempts: [{ outcome: 'rateLimited', ms: 3, by: 'first' }],
    });
    expect(sending).toMatchObject({ status: 'sending', nextAttemptAt: null, attempts: [] });
  });

  test.each<[string, number[]]>([
    [id(3), [3]],
    [id(3).toUpperCase(), [3]],
    ['0190a000-', [1, 2]],
    ['0190A', [1, 2]],
    ['0190a000-0000-7000-8000-000000000', [1, 2]],
    ['0190b', []],
    ['', []],
    ['%', []],
    ['0190a0000', []],
    [`${id(3)}0`, []],
  ])('findSubmissions returns at most two matches for the beginning %j of an id', async (begins, numbers) => {
    const found = await findSubmissions(storage, begins);
    expect(found.map(({ event }) => numberOf(event.data.id))).toEqual(numbers);
  });
});

describe.each(databases)('10,500 submissions on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  const MANY = 10_500;

  beforeAll(async () => {
    database = await create();
    storage = await database.open(testClock());
    // Ten share a time, so that a page ends between two of them.
    const many = Array.from({ length: MANY }, (_, number) =>
      submissionRow({
        id: id(number),
        received_ms: Date.UTC(2026, 0, 1) + Math.floor(number / 10) * 60_000 + 0.125,
        form: number % 3 === 0 ? 'contact' : 'homeowner_quote',
        fields: { name: number === 20 ? 'Needle' : 'Ada', email: `p${number}@example.com` },
      }),
    );
    await keepRows(storage, many);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  test('are counted up to 10,000 only', async () => {
    for (const filter of [{}, { status: 'delivered' }, { search: [{ text: 'ada', clients: [] }] }] as const) {
      const { items, total } = await submissionPage(storage, filter, { limit: 2 });
      expect(total).toEqual({ isMore: true, count: 10_000 });
      expect(items.map(({ event }) => numberOf(event.data.id))).toEqual([MANY - 1, MANY - 2]);
    }
  });

  test('are searched up to the oldest row', async () => {
    const { items, total } = await submissionPage(storage, { search: [{ text: 'needle', clients: [] }] }, { limit: 2 });
    expect(items.map(({ event }) => numberOf(event.data.id))).toEqual([20]);
    expect(total).toEqual({ isMore: false, count: 1 });
  });

  test('are exported in pages, each once, the oldest first', async () => {
    const found: number[] = [];
    for await (const page of submissionPages(storage, {}))
      found.push(...page.map(({ event }) => numberOf(event.data.id)));
    expect(found).toEqual(Array.from({ length: MANY }, (_, index) => index));
  });

  test('are read page by page, each match once, with a cursor that was written and parsed', async () => {
    const filter = { form: 'contact', search: [{ text: 'ada', clients: [] }] } as const;
    const found: number[] = [];
    let before: Cursor | undefined;
    do {
      const page = await submissionPage(storage, filter, { before, limit: 777 });
      expect(page.total).toEqual({ isMore: false, count: MANY / 3 });
      found.push(...page.items.map(({ event }) => numberOf(event.data.id)));
      before = page.older && parseCursor(writeCursor(page.older));
      expect(before).toEqual(page.older);
    } while (before !== undefined);
    expect(found).toEqual(Array.from({ length: MANY / 3 }, (_, index) => MANY - 3 - 3 * index));
  });
});

test.each(['', '1', 'x_y', `12_${id(1)}x`, `-1_${id(1)}`, `1e3_${id(1)}`])(
  'parseCursor returns undefined for %j',
  (text) => {
    expect(parseCursor(text)).toBeUndefined();
  },
);
