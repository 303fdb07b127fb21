import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createClient } from '@redis/client';
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
    limits.learn('leads', 'b', 7, 900_000);
    await flood(limits, 'leads', 250_000);
    clock.advance(899_999);
    expect((await limits.take('leads', 'a')).exceeded).toBe(true);
    expect((await limits.take('leads', 'b')).exceeded).toBe(true);
    clock.advance(1);
    expect((await limits.take('leads', 'a')).remaining).toBe(4);
    expect((await limits.take('leads', 'b')).remaining).toBe(4);
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

describe.runIf(redisAnswers)('while Redis is away', () => {
  /** A proxy in front of Redis that can swallow everything, or be gone. */
  let proxy: Server;
  let url: string;
  let swallow = false;
  /** How late Redis' answers come. */
  let delayMs = 0;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    const target = new URL(redisUrl);
    proxy = createServer((client) => {
      const server = createConnection(Number(target.port || 6379), target.hostname);
      for (const socket of [client, server])
        sockets.add(socket.on('error', () => {}).on('close', () => client.destroy()));
      client.on('data', (data) => !swallow && server.write(data));
      server.on('data', (data) => !swallow && setTimeout(() => client.write(data), delayMs));
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    url = `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });

  const slowest = async (limits: Limits, address: string, count: number) => {
    let worst = 0;
    for (let n = 0; n < count; n += 1) {
      const before = performance.now();
      await limits.take('preview', address);
      worst = Math.max(worst, performance.now() - before);
    }
    return worst;
  };

  test('a hanging Redis costs no request 100 ms, the limit still holds, and it is asked again later', async () => {
    const limits = await openRedis(url);
    const address = randomUUID();
    await limits.take('preview', address);
    swallow = true;
    expect(await slowest(limits, address, 60)).toBeLessThan(100);
    expect((await limits.take('preview', address)).exceeded).toBe(true);
    swallow = false;
    for (const socket of sockets) socket.destroy();
    const other = randomUUID();
    const shared = createClient({ url: redisUrl });
    await shared.connect();
    await expect
      .poll(
        async () => {
          await limits.take('preview', other);
          return shared.exists(`lead-intake:preview:${other}`);
        },
        { timeout: 10_000, interval: 250 },
      )
      .toBe(1);
    shared.destroy();
    await limits.close();
  });

  test('what was counted together stays counted: nobody gets another whole number', async () => {
    const [one, two] = await Promise.all([openRedis(url), openRedis(url)]);
    const address = randomUUID();
    for (let n = 0; n < 60; n += 1) await (n % 2 === 0 ? one : two).take('preview', address);
    swallow = true;
    const alone = [await one.take('preview', address), await two.take('preview', address)];
    swallow = false;
    for (const socket of sockets) socket.destroy();
    // The one that counted 59 last may allow one more, and no more than that.
    expect(alone.map(({ remaining, exceeded }) => [remaining, exceeded])).toEqual([
      [0, false],
      [0, true],
    ]);
    await Promise.all([one.close(), two.close()]);
  });

  test.each([58, 80])(
    'a process that was busy for %d ms while Redis answered believes Redis all the same',
    async (busyMs) => {
      const insurance = { ...openMemoryLimits(systemClock), take: async () => expect.fail() };
      const limits = await openRedisLimits(redisUrl, { clock: systemClock, insurance, log });
      const address = randomUUID();
      await limits.take('preview', address);
      const taken = limits.take('preview', address);
      await new Promise((resolve) => setImmediate(resolve));
      const until = performance.now() + busyMs;
      while (performance.now() < until);
      expect((await taken).remaining).toBe(58);
      await limits.close();
    },
  );

  test('what Redis says too late still counts for the next request that has to be counted alone', async () => {
    const insurance = openMemoryLimits(systemClock);
    const limits = await openRedisLimits(url, { clock: systemClock, insurance, log });
    const address = randomUUID();
    await limits.take('preview', address);
    const shared = await openRedis();
    for (let n = 0; n < 40; n += 1) await shared.take('preview', address);
    delayMs = 120;
    expect((await limits.take('preview', address)).remaining).toBe(58);
    await expect
      .poll(async () => (await insurance.take('preview', address)).remaining, { interval: 30 })
      .toBeLessThan(18);
    delayMs = 0;
    await Promise.all([limits.close(), shared.close()]);
  });

  test('a Redis that was never there costs nothing but the sharing', async () => {
    const limits = await openRedis('redis://127.0.0.1:1');
    expect(await slowest(limits, 'a', 60)).toBeLessThan(100);
    expect((await limits.take('preview', 'a')).exceeded).toBe(true);
    await limits.close();
  });
});
