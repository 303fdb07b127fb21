import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { Storage } from '../../../src/storage/database.ts';
import {
  countChips,
  countDeliveredLater,
  countExpiring,
  countNewer,
  countSubmissions,
  dailyCounts,
  deliveryState,
  lastAnswer,
  notArrived,
} from '../../../src/submissions/read/statistics.ts';
import { testClock } from '../../support/clock.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { keepRows, submissionRow } from '../../support/submissions.ts';

const id = (number: number) => `0190a000-0000-7000-8000-${String(number).padStart(12, '0')}`;

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

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

describe.each(databases)('counts on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  let now: number;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(testClock());
    const [clock] = await storage.read((db) => db.selectNoFrom(storage.dialect.wallClock.as('ms')));
    now = Math.floor(Number(clock?.ms));
  });
  afterEach(() => storage.write((tx) => tx.deleteFrom('submissions').execute()));
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const waiting = { status: 'waiting', step: 0 } as const;
  const undelivered = { status: 'undelivered', reason: 'rejected' } as const;
  const failedExecution = { status: 'undelivered', reason: 'execution_failed', origin: 'agent' } as const;
  const redacted = { email: null, search_text: '' };
  const keep = (...given: Parameters<typeof submissionRow>[0][]) => keepRows(storage, given.map(submissionRow));
  const ago = (ms: number) => now - ms;

  test('countSubmissions returns the submissions of browsers that have not arrived, and all that are being sent', async () => {
    await keep(
      {},
      { status: 'sending' },
      { status: 'sending', origin: 'agent' },
      { ...waiting, next_attempt_ms: now, received_ms: ago(SECOND) },
      { ...waiting, next_attempt_ms: now, received_ms: ago(90 * SECOND) },
      { ...undelivered, received_ms: ago(DAY) },
      undelivered,
      undelivered,
      failedExecution,
      { status: 'dismissed', reason: 'spam' },
    );
    const { oldestWaitingSeconds, ...counts } = await countSubmissions(storage);
    expect(counts).toEqual({ sending: 2, waiting: 2, undelivered: 3 });
    expect(oldestWaitingSeconds).toBeGreaterThanOrEqual(90);
    expect(oldestWaitingSeconds).toBeLessThan(120);
  });

  test('countSubmissions returns no age below zero', async () => {
    await keep({ ...waiting, next_attempt_ms: now, received_ms: now + DAY });
    expect(await countSubmissions(storage)).toMatchObject({ waiting: 1, oldestWaitingSeconds: 0 });
  });

  test('return zero if nothing is stored', async () => {
    const none = { waiting: 0, undelivered: 0 };
    expect(await countSubmissions(storage)).toEqual({ ...none, sending: 0, oldestWaitingSeconds: 0 });
    expect(await deliveryState(storage)).toEqual({ ...none, nextAttemptMs: undefined, lastAttempt: undefined });
    expect(await lastAnswer(storage)).toBeUndefined();
    expect(await notArrived(storage, 'waiting')).toBeUndefined();
    expect(await countNewer(storage, undefined, 9)).toBe(0);
    expect(await countDeliveredLater(storage, new Date(0))).toBe(0);
    expect(await countExpiring(storage, null)).toMatchObject({ count: 0 });
    expect(Object.values(await countChips(storage)).filter((count) => count > 0)).toEqual([]);
  });

  test('deliveryState returns the next attempt and the attempt that ended last without a delivery', async () => {
    const at = (second: number) => new Date(Date.UTC(2026, 8, 1, 12, 0, second)).toISOString();
    const failed = (second: number, ms: number) => ({ at: at(second), ms, outcome: 'unconfirmed' }) as const;
    await keep(
      { attempts: [failed(50, 1)] },
      { ...failedExecution, attempts: [failed(40, 1)] },
      { ...waiting, next_attempt_ms: now + 2, attempts: [failed(0, 1), failed(9, 8_000)] },
      { ...waiting, next_attempt_ms: now + 1, attempts: [failed(10, 1)] },
    );
    const lastAttempt = expect.objectContaining(failed(9, 8_000));
    expect(await deliveryState(storage)).toMatchObject({ undelivered: 0, lastAttempt });
    await keep({ ...undelivered, attempts: [failed(11, 1)] }, undelivered);
    const counts = { waiting: 2, undelivered: 2 };
    expect(await deliveryState(storage)).toEqual({ ...counts, nextAttemptMs: now + 1, lastAttempt });
    expect(await lastAnswer(storage)).toMatchObject(failed(50, 1));
    await keep({ ...undelivered, attempts: [failed(20, 1)] });
    expect(await deliveryState(storage)).toMatchObject({ lastAttempt: failed(20, 1) });
  });

  test('countExpiring returns the undelivered submissions of browsers whose last week has begun since', async () => {
    const untilMs = ago(83 * DAY);
    const old = { ...undelivered, status_since_ms: untilMs };
    await keep(
      old,
      { ...old, status_since_ms: untilMs - HOUR },
      { ...old, status_since_ms: untilMs + HOUR },
      { ...old, ...redacted },
      { ...failedExecution, status_since_ms: untilMs },
      { ...waiting, next_attempt_ms: now, status_since_ms: untilMs },
      { status: 'dismissed', reason: 'spam', status_since_ms: untilMs },
    );
    const counted = await countExpiring(storage, null);
    expect(counted.count).toBe(2);
    expect(Math.abs(counted.untilMs - untilMs)).toBeLessThan(MINUTE);
    expect(await countExpiring(storage, untilMs - HOUR)).toMatchObject({ count: 1 });
    expect(await countExpiring(storage, untilMs)).toMatchObject({ count: 0 });
  });

  test('countDeliveredLater returns the submissions that a later attempt delivered to the receiver since', async () => {
    const since = new Date(now);
    const later = { attempt_number: 2, status_since_ms: now };
    await keep(
      later,
      { ...later, ...redacted },
      { ...later, status_since_ms: now - 1 },
      { ...later, attempt_number: 1 },
      { ...later, stored_here: 1 },
      { ...later, ...undelivered },
    );
    expect(await countDeliveredLater(storage, since)).toBe(2);
  });

  test('countNewer returns the number of leads behind a position, up to a limit', async () => {
    await keep(...[1, 2, 3].map((number) => ({ id: id(number), received_ms: now })));
    await keep({ form: 'newsletter', subscriber: 'a@example.com', received_ms: now + 1 });
    expect(await countNewer(storage, undefined, 9)).toBe(3);
    expect(await countNewer(storage, undefined, 2)).toBe(2);
    expect(await countNewer(storage, { received_ms: now, id: id(1) }, 9)).toBe(2);
    expect(await countNewer(storage, { received_ms: now, id: id(3) }, 9)).toBe(0);
  });

  test('countChips returns the number of leads of each progress, and of undelivered leads', async () => {
    await keep(
      undelivered,
      { progress: 'answered' },
      { form: 'newsletter', subscriber: 'a@example.com', ...undelivered },
      { form: 'newsletter', subscriber: 'b@example.com' },
    );
    const counts = Object.entries(await countChips(storage)).filter(([, count]) => count > 0);
    expect(counts).toEqual([
      ['new', 1],
      ['answered', 1],
      ['undelivered', 1],
    ]);
  });
});
