/** Redis gone, hanging or late, by the clock: what no request may be made to wait for (contract §4). */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { createClient } from '@redis/client';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Limits } from '../../../src/limits/limits.ts';
import { openMemoryLimits } from '../../../src/limits/memory.ts';
import { openRedisLimits } from '../../../src/limits/redis.ts';
import { redisAnswers, redisUrl } from '../../support/databases.ts';

const log = pino({ level: 'silent' });
const openRedis = (url = redisUrl) =>
  openRedisLimits(url, { clock: systemClock, insurance: openMemoryLimits(systemClock), log });

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
