import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { bounds } from '../../src/forms/bounds.ts';
import type { Limits, RateName } from '../../src/limits/limits.ts';
import { openMemoryLimits } from '../../src/limits/limits.ts';
import { openRedisLimits } from '../../src/limits/redis.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openLog } from '../../src/platform/log.ts';
import { testClock } from '../support/clock.ts';
import { redisAnswers, redisUrl } from '../support/databases.ts';

const log = openLog('silent');
const openRedis = (url = redisUrl) =>
  openRedisLimits(url, { clock: systemClock, fallback: openMemoryLimits(systemClock), log });

const limiters: [string, () => Promise<Limits>][] = [
  ['memory', async () => openMemoryLimits(systemClock)],
  ...(redisAnswers ? [['Redis', openRedis] as [string, typeof openRedis]] : []),
];

describe.each(limiters)('limits in %s', (_name, open) => {
  let limits: Limits;
  beforeAll(async () => {
    limits = await open();
  });
  afterAll(() => limits.close());

  test.each(Object.keys(bounds.rates) as RateName[])(
    '%s allows as many requests as its limit at once, and refuses the next one',
    async (name) => {
      const address = randomUUID();
      const { limit, windowSeconds } = bounds.rates[name];
      const startedAt = performance.now();
      for (let n = 1; n <= limit + 1; n += 1) {
        const { exceeded, remaining, resetSeconds } = await limits.take(name, address);
        expect([exceeded, remaining]).toEqual(n <= limit ? [false, limit - n] : [true, 0]);
        const passedSeconds = Math.ceil((performance.now() - startedAt) / 1000);
        expect(resetSeconds).toBeLessThanOrEqual(windowSeconds);
        expect(resetSeconds).toBeGreaterThanOrEqual(windowSeconds - passedSeconds);
      }
      expect((await limits.take(name, randomUUID())).exceeded).toBe(false);
    },
  );

  test('counts requests of one address to two rates separately', async () => {
    const address = randomUUID();
    for (let n = 0; n < 6; n += 1) await limits.take('leads', address);
    expect((await limits.take('subscribe', address)).remaining).toBe(4);
  });

  test('counts each of 50 concurrent requests', async () => {
    const address = randomUUID();
    const taken = await Promise.all(Array.from({ length: 50 }, () => limits.take('execute', address)));
    expect(taken.filter(({ exceeded }) => !exceeded)).toHaveLength(20);
  });
});

test('a window starts with the first request and ends by the monotonic clock, even if the wall clock jumps', async () => {
  const clock = testClock();
  const limits = openMemoryLimits(clock);
  for (let n = 0; n < 6; n += 1) await limits.take('leads', 'a');
  clock.step(86_400_000);
  clock.advance(899_999);
  expect(await limits.take('leads', 'a')).toEqual({
    exceeded: true,
    remaining: 0,
    resetSeconds: 1,
  });
  clock.advance(1);
  expect(await limits.take('leads', 'a')).toEqual({
    exceeded: false,
    remaining: 4,
    resetSeconds: 900,
  });
});

test('take continues from a count given to learn until the window of that count ends', async () => {
  const clock = testClock();
  const limits = openMemoryLimits(clock);
  await limits.take('preview', 'older');
  limits.learn('preview', 'a', 59, 10_000);
  expect((await limits.take('preview', 'a')).exceeded).toBe(false);
  expect(await limits.take('preview', 'a')).toEqual({
    exceeded: true,
    remaining: 0,
    resetSeconds: 10,
  });
  clock.advance(10_000);
  expect((await limits.take('preview', 'a')).remaining).toBe(59);
});

test('peek returns the result of one more request, and counts nothing', async () => {
  const clock = testClock();
  const limits = openMemoryLimits(clock);
  for (let n = 1; n <= 2; n += 1) {
    expect(limits.peek('leads', 'a')).toEqual({ exceeded: false, remaining: 4, resetSeconds: 1 });
  }
  for (let n = 1; n <= 5; n += 1) await limits.take('leads', 'a');
  clock.advance(60_000);
  expect(limits.peek('leads', 'a')).toEqual({ exceeded: true, remaining: 0, resetSeconds: 840 });
  expect(limits.peek('leads', 'b').remaining).toBe(4);
});

test('giveBack takes back one request, also of an address that has reached its limit', async () => {
  const clock = testClock();
  const limits = openMemoryLimits(clock);
  await limits.giveBack('leads', 'a');
  for (let n = 1; n <= 5; n += 1) await limits.take('leads', 'a');
  await limits.giveBack('leads', 'a');
  expect((await limits.take('leads', 'a')).exceeded).toBe(false);
  expect((await limits.take('leads', 'a')).exceeded).toBe(true);
  await limits.giveBack('leads', 'a');
  expect((await limits.take('leads', 'a')).exceeded).toBe(true);
  expect((await limits.take('leads', 'b')).remaining).toBe(4);
});

test('usesFallback returns false for limits in memory', async () => {
  const limits = openMemoryLimits(testClock());
  expect(limits.usesFallback()).toBe(false);
  await limits.close();
});

test('limits in memory count several addresses separately', async () => {
  const limits = openMemoryLimits(testClock());
  const remaining: number[] = [];
  for (let round = 1; round <= 2; round += 1) {
    for (const address of ['a', 'b', 'c', 'd']) {
      remaining.push((await limits.take('leads', address)).remaining);
    }
  }
  expect(remaining).toEqual([4, 4, 4, 4, 3, 3, 3, 3]);
});

test.each([1, 6])('an address that took %i requests keeps its count while others come later', async (times) => {
  const clock = testClock();
  const limits = openMemoryLimits(clock);
  for (const address of ['a', 'b', 'c']) {
    for (let n = 1; n <= times; n += 1) await limits.take('leads', address);
    clock.advance(1_000);
  }
  expect(limits.peek('leads', 'a')).toMatchObject({ remaining: times === 1 ? 3 : 0, exceeded: times > 1 });
});

describe('learn', () => {
  test('replaces a count below the limit by a count that reaches the limit', async () => {
    const limits = openMemoryLimits(testClock());
    await limits.take('leads', 'a');
    limits.learn('leads', 'a', 5, 900_000);
    expect((await limits.take('leads', 'a')).exceeded).toBe(true);
  });

  test.each([
    ['recently', 0],
    ['long ago', 300_000],
  ])('replaces a count that reached the limit %s by a lower count', async (_when, since) => {
    const clock = testClock();
    const limits = openMemoryLimits(clock);
    // An address that arrives a window later starts another generation.
    limits.learn('leads', 'first', 5, 900_000);
    clock.advance(600_000);
    limits.learn('leads', 'a', 5, 900_000);
    clock.advance(since);
    limits.learn('leads', 'next', 5, 900_000);
    limits.learn('leads', 'a', 1, 10_000);
    expect((await limits.take('leads', 'a')).remaining).toBe(3);
    clock.advance(10_000);
    expect((await limits.take('leads', 'a')).remaining).toBe(4);
  });
});
