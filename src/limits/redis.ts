/**
 * Limits shared between instances in Redis, with those of this process as insurance: while Redis is
 * away or hangs no request fails, and none waits longer than `PATIENCE_MS`, because of it.
 */
import { createClient } from '@redis/client';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import { type Limits, type RateName, rateOf, rates } from './limits.ts';
import type { MemoryLimits } from './memory.ts';

/** How long Redis may take for one answer, in milliseconds. */
const PATIENCE_MS = 40;

/** A timer that is so late says that this process was busy or paused: Redis gets a little longer. */
const OWN_DELAY_MS = 10;
const SECOND_PATIENCE_MS = 15;

/** Without an answer for so long Redis counts as away: a single late one may be our own delay. */
const SILENCE_MS = 200;

/** One that is away is left alone for so long: a hanging one then costs one wait a second. */
const PAUSE_MS = 1_000;

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 500;

/** Takes a `redis://` address and the limits to count with meanwhile. Starts without Redis, too. */
export async function openRedisLimits(
  url: string,
  parts: { clock: Clock; insurance: MemoryLimits; log: Log },
): Promise<Limits> {
  const { clock, insurance, log } = parts;
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: { connectTimeout: CONNECT_TIMEOUT_MS, reconnectStrategy: RECONNECT_MS },
  });
  let away = false;
  const tell = (isAway: boolean) => {
    if (away === isAway) return;
    away = isAway;
    if (isAway) log.warn('Redis is away: rate limits are counted in this process');
    else log.info('Redis is back: rate limits are shared again');
  };
  client.on('error', () => tell(true));
  const connected = client.connect().catch(() => tell(true));
  await Promise.race([connected, after(CONNECT_TIMEOUT_MS)]);

  const limiters = Object.fromEntries(
    (Object.keys(rates) as RateName[]).map((name) => [
      name,
      new RateLimiterRedis({
        storeClient: client,
        useRedisPackage: true,
        rejectIfRedisNotReady: true,
        keyPrefix: `lead-intake:${name}`,
        points: rates[name].limit,
        duration: rates[name].windowSeconds,
      }),
    ]),
  ) as Record<RateName, RateLimiterRedis>;
  let silentSince: number | undefined;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  return {
    async take(name, address) {
      if (clock.monotonic() < pausedUntil) return await insurance.take(name, address);
      const counted = await ask(limiters[name], address, clock);
      if (counted !== undefined) {
        silentSince = undefined;
        pausedUntil = Number.NEGATIVE_INFINITY;
        tell(false);
        // Whoever has to go on alone goes on from here.
        insurance.learn(name, address, counted.consumedPoints, counted.msBeforeNext);
        return rateOf(name, counted.consumedPoints, counted.msBeforeNext);
      }
      const now = clock.monotonic();
      silentSince ??= now;
      if (now - silentSince >= SILENCE_MS) {
        pausedUntil = now + PAUSE_MS;
        tell(true);
      }
      return await insurance.take(name, address);
    },
    isInsured: () => away,
    close: async () => {
      client.destroy();
      await insurance.close();
    },
  };
}

/** What Redis says, or undefined where it says nothing in time. */
async function ask(
  limiter: RateLimiterRedis,
  address: string,
  clock: Clock,
): Promise<RateLimiterRes | undefined> {
  // The library rejects with its result where the limit is exceeded, and with an Error otherwise.
  const answer = limiter.consume(address).catch((refused: unknown) => refused);
  const within = (ms: number) => Promise.race([answer, after(ms)]);
  const askedAt = clock.monotonic();
  let result = await within(PATIENCE_MS);
  if (result === undefined && clock.monotonic() - askedAt > PATIENCE_MS + OWN_DELAY_MS) {
    result = await within(SECOND_PATIENCE_MS);
  }
  return result instanceof RateLimiterRes ? result : undefined;
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(() => resolve(undefined), ms).unref());
}
