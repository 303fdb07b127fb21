import { randomUUID } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { bounds } from '../../src/forms/bounds.ts';
import type { Limits, RateName } from '../../src/limits/limits.ts';
import { openMemoryLimits } from '../../src/limits/memory.ts';
import { openRedisLimits } from '../../src/limits/redis.ts';
import { testClock } from '../support/clock.ts';
import { redisAnswers, redisUrl } from '../support/databases.ts';

const log = pino({ level: 'silent' });
const openRedis = (url = redisUrl) =>
  openRedisLimits(url, { clock: systemClock, insurance: openMemoryLimits(systemClock), log });

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
    '%s allows its whole number at once, and not one more',
    async (name) => {
      const address = randomUUID();
      const { limit, windowSeconds } = bounds.rates[name];
      for (let n = 1; n <= limit; n += 1) {
        expect(await limits.take(name, address)).toEqual({
          exceeded: false,
          remaining: limit - n,
          resetSeconds: windowSeconds,
        });
      }
      const refused = await limits.take(name, address);
      expect([refused.exceeded, refused.remaining]).toEqual([true, 0]);
      expect(refused.resetSeconds).toBeGreaterThan(windowSeconds - 3);
      expect((await limits.take(name, randomUUID())).exceeded).toBe(false);
    },
  );

  test('the rates of one address are apart from each other', async () => {
    const address = randomUUID();
    for (let n = 0; n < 6; n += 1) await limits.take('leads', address);
    expect((await limits.take('subscribe', address)).remaining).toBe(4);
  });

  test('concurrent requests are each counted', async () => {
    const address = randomUUID();
    const taken = await Promise.all(
      Array.from({ length: 50 }, () => limits.take('execute', address)),
    );
    expect(taken.filter(({ exceeded }) => !exceeded)).toHaveLength(20);
  });
});

test('a window starts with the first request and ends on the monotonic clock alone', async () => {
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

test('a count that was learned goes on from there, until its own end', async () => {
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

test('a look tells what one request more would be told, and counts nothing', async () => {
  const clock = testClock();
  const limits = openMemoryLimits(clock);
  for (let n = 1; n <= 2; n += 1) {
    expect(limits.look('leads', 'a')).toEqual({ exceeded: false, remaining: 4, resetSeconds: 1 });
  }
  for (let n = 1; n <= 5; n += 1) await limits.take('leads', 'a');
  clock.advance(60_000);
  expect(limits.look('leads', 'a')).toEqual({ exceeded: true, remaining: 0, resetSeconds: 840 });
  expect(limits.look('leads', 'b').remaining).toBe(4);
});

test('one process alone is insured by nobody', async () => {
  const limits = openMemoryLimits(testClock());
  expect(limits.isInsured()).toBe(false);
  await limits.close();
});

test('many addresses are counted beside each other', async () => {
  const limits = openMemoryLimits(testClock());
  const remaining: number[] = [];
  for (let round = 1; round <= 2; round += 1) {
    for (const address of ['a', 'b', 'c', 'd']) {
      remaining.push((await limits.take('leads', address)).remaining);
    }
  }
  expect(remaining).toEqual([4, 4, 4, 4, 3, 3, 3, 3]);
});

describe('what is learned takes the place of what was counted here', () => {
  test('where a limit is reached that was not', async () => {
    const limits = openMemoryLimits(testClock());
    await limits.take('leads', 'a');
    limits.learn('leads', 'a', 5, 900_000);
    expect((await limits.take('leads', 'a')).exceeded).toBe(true);
  });

  test.each([
    ['lately', 0],
    ['long ago', 300_000],
  ])('where a limit was reached %s that is not any more', async (_when, since) => {
    const clock = testClock();
    const limits = openMemoryLimits(clock);
    // Who comes a window after this one begins another half.
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

describe('a flood of addresses', () => {
  /** In bytes, without what is only waiting to be collected. */
  const heapUsed = () => {
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
    return process.memoryUsage().heapUsed;
  };

  let asked = 0;
  const flood = async (limits: Limits, name: RateName, count: number) => {
    for (let n = 0; n < count; n += 1) {
      asked += 1;
      await limits.take(name, `flood-${asked}`);
    }
  };

  test('gives nobody a fresh window who has reached a limit', async () => {
    const clock = testClock();
    const limits = openMemoryLimits(clock);
    for (let n = 0; n < 5; n += 1) await limits.take('leads', 'a');
    limits.learn('leads', 'b', 5, 900_000);
    await flood(limits, 'leads', 250_000);
    // Another process has been asked once by each of these.
    for (let n = 0; n < 250_000; n += 1) limits.learn('leads', `learned-${n}`, 1, 900_000);
    clock.advance(899_999);
    expect((await limits.take('leads', 'a')).exceeded).toBe(true);
    expect((await limits.take('leads', 'b')).exceeded).toBe(true);
    clock.advance(1);
    expect((await limits.take('leads', 'a')).remaining).toBe(4);
    expect((await limits.take('leads', 'b')).remaining).toBe(4);
  });

  test('is forgotten once its windows have ended and others begin', async () => {
    const clock = testClock();
    const limits = openMemoryLimits(clock);
    await limits.take('preview', 'before');
    await flood(limits, 'preview', 90_000);
    // 10 MB. What files before this one have left may go at any time: it is never counted against this.
    const flooded = heapUsed();
    for (let n = 0; n < 2; n += 1) {
      clock.advance(60_000);
      await limits.take('preview', 'after');
    }
    expect(flooded - heapUsed()).toBeGreaterThan(8_000_000);
    expect((await limits.take('preview', 'after')).remaining).toBe(58);
  });

  test('keeps no more than a bounded number, and nobody waits for their removal', async () => {
    const clock = testClock();
    const limits = openMemoryLimits(clock);
    await flood(limits, 'leads', 200_000);
    const before = heapUsed();
    await flood(limits, 'leads', 300_000);
    expect(heapUsed() - before).toBeLessThan(10_000_000);
    clock.advance(900_000);
    const startedAt = performance.now();
    await limits.take('leads', 'a');
    expect(performance.now() - startedAt).toBeLessThan(50);
  });
});
