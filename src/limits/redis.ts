/**
 * Limits that instances share in Redis. The limits of this process are the fallback: while Redis is unavailable or
 * hangs, no request fails and no request waits for 100 ms.
 */
import type { RateLimiterRes } from 'rate-limiter-flexible';
import type { Clock } from '../platform/clock.ts';
import { sharedLookup } from '../platform/dns-lookup.ts';
import type { Log } from '../platform/log.ts';
import type { Settings } from '../settings/settings.ts';
import { eachRate, type Limits, type MemoryLimits, openMemoryLimits, type RateName, rateOf } from './limits.ts';

/** Time limit for an answer of Redis. */
const TIMEOUT_MS = 55;

/** Delay of a timer that shows that this process was busy or paused. Redis then gets `SECOND_TIMEOUT_MS` more. */
const OWN_DELAY_MS = 10;
const SECOND_TIMEOUT_MS = 15;

/** Time without an answer after which Redis counts as unavailable. A delay of this process can make one answer late. */
const SILENCE_MS = 200;

/** Pause before the next request to an unavailable Redis. While Redis hangs, only one request a second waits for it. */
const PAUSE_MS = 1_000;

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 500;

/** Returns limits in Redis if `REDIS_URL` is set, or else in this process. */
export async function openLimits({ redisUrl }: Settings, clock: Clock, log: Log): Promise<Limits> {
  const fallback = openMemoryLimits(clock);
  return redisUrl === undefined ? fallback : await openRedisLimits(redisUrl, { clock, fallback, log });
}

/** Opens limits in Redis (`redis://…`). `fallback` counts while Redis is unavailable, also at the start. */
export async function openRedisLimits(
  url: string,
  { clock, fallback, log }: { clock: Clock; fallback: MemoryLimits; log: Log },
): Promise<Limits> {
  const { createClient } = await import('@redis/client');
  const { RateLimiterRedis, RateLimiterRes } = await import('rate-limiter-flexible');
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: RECONNECT_MS, lookup: sharedLookup() },
  });
  let away = false;
  const setAway = (isAway: boolean) => {
    if (away === isAway) return;
    away = isAway;
    if (isAway) log.warn('Redis unavailable, rate limits counted in this process');
    else log.info('Redis available, rate limits shared again');
  };
  client.on('error', () => setAway(true));
  const connected = client.connect().catch(() => setAway(true));
  await Promise.race([connected, silence(clock, CONNECT_TIMEOUT_MS)]);

  const limiters = eachRate(
    ({ limit, windowSeconds }, name) =>
      new RateLimiterRedis({
        storeClient: client,
        useRedisPackage: true,
        rejectIfRedisNotReady: true,
        keyPrefix: `lead-intake:${name}`,
        points: limit,
        duration: windowSeconds,
      }),
  );
  let silentSince: number | undefined;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  /** Returns the answer of Redis, or undefined after an error. A late answer counts as well. */
  async function ask(name: RateName, address: string): Promise<RateLimiterRes | undefined> {
    // If the limit is exceeded, the library rejects with its result, and otherwise with an Error.
    const answer: unknown = await limiters[name].consume(address).catch((refused) => refused);
    if (!(answer instanceof RateLimiterRes)) return undefined;
    silentSince = undefined;
    pausedUntil = Number.NEGATIVE_INFINITY;
    setAway(false);
    // If Redis fails, the fallback continues from this count.
    fallback.learn(name, address, answer.consumedPoints, answer.msBeforeNext);
    return answer;
  }

  return {
    async take(name, address) {
      if (clock.monotonic() < pausedUntil) return await fallback.take(name, address);
      const counted = await inTime(ask(name, address), clock);
      if (counted !== undefined) return rateOf(name, counted.consumedPoints, counted.msBeforeNext);
      const now = clock.monotonic();
      silentSince ??= now;
      if (now - silentSince >= SILENCE_MS) {
        pausedUntil = now + PAUSE_MS;
        setAway(true);
      }
      return await fallback.take(name, address);
    },
    async giveBack(name, address) {
      await fallback.giveBack(name, address);
      if (clock.monotonic() < pausedUntil) return;
      await inTime(
        limiters[name].reward(address).catch(() => undefined),
        clock,
      );
    },
    usesFallback: () => away,
    close: async () => {
      client.destroy();
      await fallback.close();
    },
  };
}

/** Returns the answer, or undefined if the answer is late. */
async function inTime<T>(answer: Promise<T>, clock: Clock): Promise<T | undefined> {
  const askedAt = clock.monotonic();
  const early = await Promise.race([answer, silence(clock, TIMEOUT_MS)]);
  if (early !== undefined) return early;
  // Timers come before sockets in a turn. Data that arrived while this process was busy is read first.
  const read = await Promise.race([answer, turns(clock, 2)]);
  if (read !== undefined || clock.monotonic() - askedAt <= TIMEOUT_MS + OWN_DELAY_MS) return read;
  return await Promise.race([answer, silence(clock, SECOND_TIMEOUT_MS)]);
}

function silence(clock: Clock, ms: number): Promise<undefined> {
  return new Promise((resolve) => void clock.after(ms, () => resolve(undefined)));
}

async function turns(clock: Clock, count: number): Promise<undefined> {
  for (let turn = 0; turn < count; turn += 1) await clock.turn();
}
