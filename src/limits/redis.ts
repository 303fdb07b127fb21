/**
 * Limits shared between instances in Redis, with those of this process as insurance: while Redis is
 * away or hangs no request fails, and none waits for 100 ms, because of it.
 */

import { createClient } from '@redis/client';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Clock } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import { sharedLookup } from '../lookup.ts';
import type { Log } from '../operations/log.ts';
import { type Limits, type RateName, rateOf } from './limits.ts';
import type { MemoryLimits } from './memory.ts';

/** How long Redis may take for one answer, in milliseconds. */
const PATIENCE_MS = 55;

/** A timer that is so late says that this process was busy or paused: Redis gets a little longer. */
const OWN_DELAY_MS = 10;
const SECOND_PATIENCE_MS = 15;

/** Without an answer for so long Redis counts as away: a single late one may be our own delay. */
const SILENCE_MS = 200;

/** One that is away is left alone for so long: a hanging one then costs one wait a second. */
const PAUSE_MS = 1_000;

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 500;

/** `insurance` counts while Redis (`redis://…`) is away, at the start too. */
export async function openRedisLimits(
  url: string,
  parts: { clock: Clock; insurance: MemoryLimits; log: Log },
): Promise<Limits> {
  const { clock, insurance, log } = parts;
  const client = createClient({
    url,
    disableOfflineQueue: true,
    socket: {
      connectTimeout: CONNECT_TIMEOUT_MS,
      reconnectStrategy: RECONNECT_MS,
      lookup: sharedLookup(),
    },
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
  await Promise.race([connected, silence(clock, CONNECT_TIMEOUT_MS)]);

  const limiters = Object.fromEntries(
    (Object.keys(bounds.rates) as RateName[]).map((name) => [
      name,
      new RateLimiterRedis({
        storeClient: client,
        useRedisPackage: true,
        rejectIfRedisNotReady: true,
        keyPrefix: `lead-intake:${name}`,
        points: bounds.rates[name].limit,
        duration: bounds.rates[name].windowSeconds,
      }),
    ]),
  ) as Record<RateName, RateLimiterRedis>;
  let silentSince: number | undefined;
  let pausedUntil = Number.NEGATIVE_INFINITY;

  /** What Redis says, or undefined where it can't. An answer that nobody waited for counts as well. */
  async function ask(name: RateName, address: string): Promise<RateLimiterRes | undefined> {
    // The library rejects with its result where the limit is exceeded, and with an Error otherwise.
    const said: unknown = await limiters[name].consume(address).catch((refused) => refused);
    if (!(said instanceof RateLimiterRes)) return undefined;
    silentSince = undefined;
    pausedUntil = Number.NEGATIVE_INFINITY;
    tell(false);
    // Whoever has to go on alone goes on from here.
    insurance.learn(name, address, said.consumedPoints, said.msBeforeNext);
    return said;
  }

  return {
    async take(name, address) {
      if (clock.monotonic() < pausedUntil) return await insurance.take(name, address);
      const counted = await inTime(ask(name, address), clock);
      if (counted !== undefined) return rateOf(name, counted.consumedPoints, counted.msBeforeNext);
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

/** An answer, or undefined where there is none in time. */
async function inTime<T>(answer: Promise<T>, clock: Clock): Promise<T | undefined> {
  const askedAt = clock.monotonic();
  const early = await Promise.race([answer, silence(clock, PATIENCE_MS)]);
  if (early !== undefined) return early;
  // Timers come before sockets in a turn: what arrived while this process was busy is read first.
  const read = await Promise.race([answer, turns(clock, 2)]);
  if (read !== undefined || clock.monotonic() - askedAt <= PATIENCE_MS + OWN_DELAY_MS) return read;
  return await Promise.race([answer, silence(clock, SECOND_PATIENCE_MS)]);
}

function silence(clock: Clock, ms: number): Promise<undefined> {
  return new Promise((resolve) => void clock.after(ms, () => resolve(undefined)));
}

async function turns(clock: Clock, count: number): Promise<undefined> {
  for (let turn = 0; turn < count; turn += 1) await clock.turn();
}
