import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Storage } from '../../../src/storage/database.ts';
import { dailyCounts, notArrived } from '../../../src/submissions/read/statistics.ts';
import { testClock } from '../../support/clock.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { keepRows, submissionRow } from '../../support/submissions.ts';

const id = (number: number) => `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`;

/** Ten share a time, so that a page ends between two of them. */
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

describe.each(databases)('statistics on %s', (_name, create) => {
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

  test('dailyCounts returns the number of leads per day and origin, with days in the given time zone', async () => {
    const now = new Date('2026-08-29T10:00:00.000Z');
    const countDays = (zone: string) => dailyCounts(storage, now, zone);
    const days = await countDays('Europe/Vienna');
    expect(days).toHaveLength(30);
    expect(days.at(-1)?.date).toBe('2026-08-29');
    expect(days[0]?.date).toBe('2026-07-31');
    const of = (date: string) => days.find((day) => day.date === date);
    // The first submission is half an hour before midnight in Vienna.
    expect(of('2026-08-20')).toEqual({ date: '2026-08-20', browser: 150, agent: 50 });
    expect(of('2026-08-21')).toEqual({ date: '2026-08-21', browser: 150, agent: 50 });
    expect(of('2026-08-22')).toEqual({ date: '2026-08-22', browser: 0, agent: 0 });
    const there = await countDays('Asia/Tokyo');
    expect(there.find(({ date }) => date === '2026-08-21')).toMatchObject({ browser: 300 });
  });

  test('notArrived returns the number of browser submissions with a status, and the oldest of them', async () => {
    expect(await notArrived(storage, 'undelivered')).toEqual({
      total: { isMore: false, count: 2 },
      oldest: expect.objectContaining({
        event: expect.objectContaining({ data: expect.objectContaining({ id: id(MANY - 3) }) }),
        receivedAt: new Date(START + (MANY / 10 - 1) * 60_000).toISOString(),
        reason: 'rejected',
        attempts: [],
      }),
    });
    // The other waiting submission is an agent's.
    expect(await notArrived(storage, 'waiting')).toMatchObject({ total: { count: 1 } });
  });
});
