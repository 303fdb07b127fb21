import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openLog } from '../../src/operations/log.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { findBeginning } from '../../src/submissions/address-search.ts';
import { notArrived } from '../../src/submissions/attention.ts';
import { openDailyCounts, type Picture } from '../../src/submissions/daily-counts.ts';
import { submissionPage, submissionPages } from '../../src/submissions/listing.ts';
import {
  type Cursor,
  parseCursor,
  type SubmissionFilter,
  writeCursor,
} from '../../src/submissions/listing-queries.ts';
import { parseSearch } from '../../src/submissions/search.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { until } from '../support/until.ts';

const id = (number: number) => `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`;
const numberOf = (of: string) => Number(of.slice(-12));

/** Ten at one moment, so that a page ends between two of them. */
const MANY = 600;
const START = Date.UTC(2026, 7, 20, 21, 30);
const forms = ['contact', 'homeowner_quote', 'newsletter'] as const;

const rows = Array.from({ length: MANY }, (_, number) => {
  const isLate = number >= MANY - 4;
  return submissionRow({
    id: id(number),
    received_ms: START + Math.floor(number / 10) * 60_000 + 0.125,
    form: forms[number % 3] ?? 'contact',
    origin: number % 4 === 0 ? 'agent' : 'browser',
    fields: {
      name: `Straße ${number % 100}`,
      email: `${number % 2 === 0 ? 'even' : 'odd'}${number}@example.com`,
    },
    ...(isLate && { status: number % 2 === 0 ? 'waiting' : 'undelivered', reason: 'rejected' }),
  });
});

describe.each(databases)('a page of leads on %s', (name, create) => {
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

  /** All pages, one after the other, by the place that each says. */
  async function allOf(filter: SubmissionFilter, limit: number) {
    const found: number[] = [];
    let before: Cursor | undefined;
    for (let pages = 1; ; pages += 1) {
      const page = await submissionPage(reading(), filter, { before, limit });
      found.push(...page.items.map(({ event }) => numberOf(event.data.id)));
      if (page.older === undefined) return { found, pages, total: page.total };
      before = parseCursor(writeCursor(page.older));
      expect(before).toEqual(page.older);
    }
  }

  test.each<[string, SubmissionFilter, number, (number: number) => boolean]>([
    ['everything', {}, 70, () => true],
    ['a form', { form: 'contact' }, 33, (number) => number % 3 === 0],
    ['an origin', { origin: 'agent' }, 33, (number) => number % 4 === 0],
    ['a status', { status: 'delivered' }, 150, (number) => number < MANY - 4],
    ['a word', { search: parseSearch('strasse 99') }, 10, () => false],
    [
      'a word of other letters',
      { search: parseSearch('STRAßE 99') },
      10,
      (number) => String(number).includes('99'),
    ],
    ['an address', { search: parseSearch('odd11@') }, 1, (number) => number === 11],
    [
      'the beginning of addresses',
      { search: parseSearch('odd1') },
      77,
      (number) => number % 2 === 1 && String(number).startsWith('1'),
    ],
  ])('%s: each once, newest first, and how many there are', async (_what, filter, limit, has) => {
    const expected = rows
      .map(({ id: of }) => numberOf(of))
      .filter(has)
      .reverse();
    const { found, total } = await allOf(filter, limit);
    expect(found).toEqual(expected);
    expect(total).toEqual({ isMore: false, count: expected.length });
  });

  test('the beginning of addresses is found in every way alike: sorted, by a walk, in the newest, in what is filtered', async () => {
    const filter = { begins: 'even', form: 'newsletter' } as const;
    const before = { received_ms: START + 30 * 60_000, id: id(300) };
    const wanted = { before, limit: 40, atMost: 1_000 };
    const found = await findBeginning(reading(), filter, wanted);
    expect(found.count).toBe(100);
    expect(found.keys.map((key) => numberOf(key.id)).slice(0, 3)).toEqual([296, 290, 284]);
    for (const sizes of [
      { many: 5, few: 0 },
      { many: 5, few: 1_000 },
      { many: 10_000, few: 0 },
    ]) {
      expect(await findBeginning(reading(), filter, { ...wanted, sizes })).toEqual(found);
      const counted = await findBeginning(reading(), filter, { ...wanted, limit: 0, sizes });
      expect(counted).toEqual({ keys: [], count: 100 });
      const further = { ...wanted, before: found.keys[9], below: before, sizes };
      const rest = await findBeginning(reading(), filter, further);
      expect(rest.count).toBe(50);
      expect(rest.keys.slice(0, 30), JSON.stringify(sizes)).toEqual(found.keys.slice(10));
    }
  });

  test('the beginning of many addresses is exported whole, oldest first', async () => {
    const exported: string[] = [];
    for await (const page of submissionPages(reading(), { search: parseSearch('e') })) {
      exported.push(...page.map(({ event }) => event.data.id));
    }
    expect(exported).toEqual([...new Set(exported)].sort());
    expect(exported).toHaveLength(MANY);
  });

  test('who reads on in what was found is not shown what is gone, nor told that it is there', async () => {
    const mine = ['a', 'b'].map((letter, index) =>
      submissionRow({
        id: id(MANY + 10 + index),
        fields: { name: 'Zoe', email: `${letter}@z.co` },
      }),
    );
    await keepRows(storage, mine);
    const find = () => submissionPage(reading(), { search: parseSearch('zoe') }, { limit: 10 });
    expect((await find()).total.count).toBe(2);
    const erase = (row: { id: string } | undefined) =>
      storage.write((tx) =>
        tx
          .deleteFrom('submissions')
          .where('id', '=', row?.id ?? '')
          .execute(),
      );
    // Not the newest: that alone would say that something has changed.
    await erase(mine[0]);
    const { items, total } = await find();
    expect([items.length, total.count]).toEqual([1, 1]);
    await erase(mine[1]);
    expect((await find()).items).toEqual([]);
  });

  test('each day is counted by origin, as the calendar of the time zone has it', async () => {
    const clock = testClock('2026-08-29T10:00:00.000Z');
    const dailyCounts = openDailyCounts({ storage, clock, log: openLog('silent') });
    const countDays = async (zone: string) => {
      // A machine that is busy may take longer than a page waits.
      for (;;) {
        const picture = await dailyCounts.picture(zone);
        if (picture?.isOld === false) return picture.days;
      }
    };
    const days = await countDays('Europe/Vienna');
    expect(days).toHaveLength(30);
    expect(days.at(-1)?.date).toBe('2026-08-29');
    expect(days[0]?.date).toBe('2026-07-31');
    const of = (date: string) => days.find((day) => day.date === date);
    // From half an hour before midnight on, there.
    expect(of('2026-08-20')).toEqual({ date: '2026-08-20', browser: 225, agent: 75 });
    expect(of('2026-08-21')).toEqual({ date: '2026-08-21', browser: 225, agent: 75 });
    expect(of('2026-08-22')).toEqual({ date: '2026-08-22', browser: 0, agent: 0 });
    const there = await countDays('Asia/Tokyo');
    expect(there.find(({ date }) => date === '2026-08-21')).toMatchObject({ browser: 450 });

    const late = submissionRow({ id: id(MANY), received_ms: clock.now().getTime() - 5_000 });
    const early = submissionRow({ id: id(MANY + 1), received_ms: Date.UTC(2026, 7, 22) });
    await keepRows(storage, [late, early]);
    expect((await countDays('Europe/Vienna')).at(-1)).toMatchObject({ browser: 1 });
    clock.advance(600_000);
    const recounted = await countDays('Europe/Vienna');
    expect(recounted.find(({ date }) => date === '2026-08-22')).toMatchObject({ browser: 1 });
    expect(recounted.at(-1)).toMatchObject({ browser: 1 });
    await storage.write((tx) =>
      tx.deleteFrom('submissions').where('id', 'in', [late.id, early.id]).execute(),
    );
  });

  test('who would wait long for the days is told that they are counted, then what was counted before', async () => {
    const clock = testClock('2026-08-29T10:00:00.000Z');
    let mayRead: Promise<unknown> = Promise.resolve();
    const slow: Storage = {
      ...storage,
      dialect: storage.dialect,
      read: async (query) => {
        await mayRead;
        return storage.read(query);
      },
    };
    const { picture: countDays } = openDailyCounts({
      storage: slow,
      clock,
      log: openLog('silent'),
    });
    const held = () => {
      const gate = Promise.withResolvers<void>();
      mayRead = gate.promise;
      return gate.resolve;
    };
    let goOn = held();
    expect(await countDays('Europe/Vienna')).toBeUndefined();
    goOn();
    let counted: Picture | undefined;
    await until(async () => {
      counted = await countDays('Europe/Vienna');
      return counted?.isOld === false;
    });
    goOn = held();
    clock.advance(600_000);
    expect(await countDays('Europe/Vienna')).toEqual({ ...counted, isOld: true });
    goOn();
    await until(async () => (await countDays('Europe/Vienna'))?.isOld === false);
  });

  test('a count that fails is thrown to who waits for it, and logged once where nobody does any more', async () => {
    const lines: string[] = [];
    const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line).msg) });
    const gate = Promise.withResolvers<void>();
    let mayRead: Promise<void> = gate.promise;
    const failing: Storage = {
      ...storage,
      dialect: storage.dialect,
      read: async () => {
        await mayRead;
        throw new StorageUnavailable('away');
      },
    };
    const dailyCounts = openDailyCounts({ storage: failing, clock: testClock(), log });
    const countDays = () => dailyCounts.picture('Europe/Vienna');
    const both = [countDays(), countDays()];
    expect(await Promise.all(both)).toEqual([undefined, undefined]);
    expect(lines).toEqual([]);
    gate.resolve();
    await until(() => lines.length > 0);
    mayRead = Promise.resolve();
    await expect(countDays()).rejects.toThrow('away');
    // Longer than anybody waits for a count: what was thrown is not logged then either.
    await systemClock.sleep(100);
    expect(lines).toEqual(['the days could not be counted']);
    dailyCounts.begin('Europe/Vienna');
    dailyCounts.begin('Europe/Vienna');
    await expect(countDays()).rejects.toThrow('away');
    await systemClock.sleep(100);
    expect(lines).toEqual(Array(2).fill('the days could not be counted'));
  });

  test('what has not arrived is told with its oldest, agents’ left out', async () => {
    expect(await notArrived(storage, 'undelivered')).toEqual({
      total: { isMore: false, count: 2 },
      oldest: {
        id: id(MANY - 3),
        receivedAt: new Date(START + (MANY / 10 - 1) * 60_000).toISOString(),
        reason: 'rejected',
        outcome: undefined,
      },
    });
    // The other one that waits is an agent's.
    expect(await notArrived(storage, 'waiting')).toMatchObject({ total: { count: 1 } });
    expect(name).toBeTypeOf('string');
  });
});

test.each(['', '1', 'x_y', `12_${id(1)}x`, `-1_${id(1)}`, `1e3_${id(1)}`])(
  'an address without a place says %j',
  (text) => {
    expect(parseCursor(text)).toBeUndefined();
  },
);
