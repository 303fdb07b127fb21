/** Redis that is unavailable, hangs or answers late must delay no request (reference §17.3). These tests use the real clock. */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { createClient } from '@redis/client';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Limits } from '../../../src/limits/limits.ts';
import { openMemoryLimits } from '../../../src/limits/limits.ts';
import { openRedisLimits } from '../../../src/limits/redis.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { openLog } from '../../../src/platform/log.ts';
import { redisAnswers, redisUrl } from '../../support/databases.ts';

const log = openLog('silent');
const openRedis = (url = redisUrl) =>
  openRedisLimits(url, { clock: systemClock, fallback: openMemoryLimits(systemClock), log });

describe.runIf(redisAnswers)('limits without Redis', () => {
  /** A proxy in front of Redis that can drop all data or close. */
  let proxy: Server;
  let url: string;
  let swallow = false;
  /** Delay of the answers of Redis, in milliseconds. */
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

  test('delay requests by less than 100 ms if Redis hangs, still apply, and use Redis once it answers', async () => {
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

  test('continue from the shared count if Redis hangs, so that a used-up limit stays used up', async () => {
    const [one, two] = await Promise.all([openRedis(url), openRedis(url)]);
    const address = randomUUID();
    for (let n = 0; n < 60; n += 1) await (n % 2 === 0 ? one : two).take('preview', address);
    swallow = true;
    const alone = [await one.take('preview', address), await two.take('preview', address)];
    swallow = false;
    for (const socket of sockets) socket.destroy();
    // The instance that counted 59 last may allow one more request.
    expect(alone.map(({ remaining, exceeded }) => [remaining, exceeded])).toEqual([
      [0, false],
      [0, true],
    ]);
    await Promise.all([one.close(), two.close()]);
  });

  test.each([58, 80])('use the answer of Redis even if the process was busy for %d ms meanwhile', async (busyMs) => {
    const fallback = { ...openMemoryLimits(systemClock), take: async () => expect.fail() };
    const limits = await openRedisLimits(redisUrl, { clock: systemClock, fallback, log });
    const address = randomUUID();
    await limits.take('preview', address);
    const taken = limits.take('preview', address);
    await new Promise((resolve) => setImmediate(resolve));
    const until = performance.now() + busyMs;
    while (performance.now() < until);
    expect((await taken).remaining).toBe(58);
    await limits.close();
  });

  test('an answer of Redis after the time limit corrects the count for the next request in memory', async () => {
    const fallback = openMemoryLimits(systemClock);
    const limits = await openRedisLimits(url, { clock: systemClock, fallback, log });
    const address = randomUUID();
    await limits.take('preview', address);
    const shared = await openRedis();
    for (let n = 0; n < 40; n += 1) await shared.take('preview', address);
    delayMs = 120;
    expect((await limits.take('preview', address)).remaining).toBe(58);
    await expect
      .poll(async () => (await fallback.take('preview', address)).remaining, { interval: 30 })
      .toBeLessThan(18);
    delayMs = 0;
    await Promise.all([limits.close(), shared.close()]);
  });

  test('apply and answer within 100 ms if Redis was never available', async () => {
    const limits = await openRedis('redis://127.0.0.1:1');
    expect(await slowest(limits, 'a', 60)).toBeLessThan(100);
    expect((await limits.take('preview', 'a')).exceeded).toBe(true);
    await limits.close();
  });
});
