import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { findSubmissions, submissionPage, submissionPages } from '../../src/submissions/listing.ts';
import {
  type Filter,
  keysOf,
  type SubmissionFilter,
} from '../../src/submissions/listing-queries.ts';
import { parseSearch } from '../../src/submissions/search.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';

const id = (number: number) => `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const numberOf = (of: string) => Number(of.slice(-12));
const at = (minute: number) => new Date(Date.UTC(2026, 8, 1, 12, minute)).toISOString();
const ada = { name: 'Ada', email: 'ada@example.com', message: 'Two rooms' };

/** In the order in which they came; the last two at one moment. */
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

describe.each(databases)('what is kept, on %s', (_name, create) => {
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

  const reading = () => ({ storage, clock: systemClock });
  const latest = async (filter: SubmissionFilter, limit = 20) =>
    (await submissionPage(reading(), filter, { limit })).items.map(({ event }) =>
      numberOf(event.data.id),
    );
  const exported = async (filter: SubmissionFilter) => {
    const found: number[] = [];
    for await (const page of submissionPages(reading(), filter)) {
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
    ['a form that nobody sent', { form: 'contractor_signup' }, []],
    ['what is delivered', { status: 'delivered' }, [6, 1]],
    ['what is delivered, of a form', { status: 'delivered', form: 'contact' }, [1]],
    ['what is being sent', { status: 'sending' }, [4]],
    ['what waits', { status: 'waiting' }, [2]],
    ['what is undelivered, of browsers', { status: 'undelivered', origin: 'browser' }, []],
    ['what was dismissed', { status: 'dismissed' }, [5]],
    ['since a moment, which is in', { since: new Date(at(5)) }, [6, 5]],
    ['until a moment, which is out', { until: new Date(at(3)) }, [2, 1]],
    ['between two', { since: new Date(at(2)), until: new Date(at(4)), form: 'contact' }, []],
    ['one person', { email: 'eve@example.com' }, [6, 3]],
    ['a reference', search(id(4)), [4]],
    ['a telephone number, by its digits', search('1 555 0100'), [2]],
    ['half a telephone number', search('555 0100'), []],
    ['the beginning of an address', search('ADA@ex'), [1]],
    ['letters that are wildcards elsewhere', search('x_y%@'), [4]],
    ['no wildcard', search('%@'), []],
    ['the beginning of an address, or a word', search('ada'), [4, 2, 1]],
    ['words', search('two ROOMS'), [2, 1]],
    ['a word with a wildcard', search('off_w'), [4]],
    ['what is nowhere', search('off-w'), []],
    ['words, filtered', { ...search('ada'), status: 'waiting' }, [2]],
  ])('%s: listed newest first, exported oldest first', async (_what, filter, numbers) => {
    expect(await latest(filter)).toEqual(numbers);
    expect(await latest(filter, 1)).toEqual(numbers.slice(0, 1));
    expect(await exported(filter)).toEqual(numbers.toReversed());
  });

  test('says what became of each: when it is tried again only of what waits', async () => {
    const [, , sending, , waiting] = (await submissionPage(reading(), {}, { limit: 5 })).items;
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
  ])('by the beginning %j of an id: two at most', async (begins, numbers) => {
    const found = await findSubmissions(reading(), begins);
    expect(found.map(({ event }) => numberOf(event.data.id))).toEqual(numbers);
  });
});

describe.each(databases)('however many there are, on %s', (name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  const MANY = 10_500;
  const LATE = MANY - 100;

  beforeAll(async () => {
    database = await create();
    storage = await database.open(testClock());
    const many = Array.from({ length: MANY }, (_, number) =>
      submissionRow({
        id: id(number),
        receivedAt: new Date(Date.UTC(2026, 0, 1) + number * 1_000).toISOString(),
        fields: {
          name: number === 20 ? 'Needle' : 'Ada',
          email:
            number < 10 || number === LATE ? `old${number}@example.com` : `p${number}@example.com`,
          phone: `+1 ${number}`,
        },
      }),
    );
    await keepRows(storage, many);
    if (name === 'PostgreSQL') await storage.write((tx) => tx.executeQuery(raw('analyze')));
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const reading = () => ({ storage, clock: systemClock });

  test.each<[string, Filter, string]>([
    ['the newest', {}, 'submissions_received'],
    ['of a form', { form: 'newsletter' }, 'submissions_listed'],
    ['of an origin', { origin: 'agent' }, 'submissions_listed'],
    ['of both', { form: 'contact', origin: 'agent', status: 'delivered' }, 'submissions_listed'],
    ['of an open status', { status: 'undelivered', form: 'contact' }, 'submissions_listed'],
    ['of a person', { email: 'p77@example.com' }, 'submissions_email'],
    ['a status', { status: 'delivered' }, 'submissions_listed'],
    [
      'a telephone number',
      { search: { kind: 'telephone', digits: '177' } },
      'submissions_telephone',
    ],
    ['a time', { until: new Date('2026-01-01T00:00:20.000Z') }, 'submissions_received'],
  ])('%s: an index is walked', async (_what, filter, index) => {
    const { sql, parameters } = storage.compile(
      keysOf(storage, filter, { direction: 'desc', limit: 20 }),
    );
    const explain = name === 'SQLite' ? 'explain query plan' : 'explain';
    const { rows: plan } = await storage.write((tx) =>
      tx.executeQuery(raw(`${explain} ${sql}`, parameters)),
    );
    const steps = JSON.stringify(plan);
    expect(steps).toContain(index);
    expect(steps).not.toMatch(/Seq Scan|SCAN submissions"/);
  });

  test('words are looked for in the newest 10,000, the beginning of an address in all', async () => {
    const find = async (typed: string, limit = 20) =>
      (await submissionPage(reading(), { search: parseSearch(typed) }, { limit })).items.map(
        ({ event }) => numberOf(event.data.id),
      );
    const { total } = await submissionPage(reading(), {}, { limit: 1 });
    expect(total).toEqual({ isMore: true, count: 10_000 });
    expect(await find('needle')).toEqual([]);
    expect(await find('old')).toEqual([LATE, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]);
    expect(await find('ada', 2)).toEqual([MANY - 1, MANY - 2]);
    const pages: number[] = [];
    for await (const page of submissionPages(reading(), { search: parseSearch('old') })) {
      pages.push(...page.map(({ event }) => numberOf(event.data.id)));
    }
    expect(pages).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9, LATE]);
  });
});

function raw(sql: string, parameters: readonly unknown[] = []) {
  return { sql, parameters, query: {} as never, queryId: {} as never };
}
