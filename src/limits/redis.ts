/**
 * Limits shared between instances in Redis, with those of this process as insurance: while Redis is
 * away or hangs no request fails, and none waits longer than `PATIENCE_MS`, because of it.
 */
import { createClient } from '@redis/client';
import { RateLimiterRedis, RateLimiterRes } from 'rate-limiter-flexible';
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import { type Limits, type Rate, type RateName, rateOf, rates } from './limits.ts';

/** How long Redis may take for one answer, in milliseconds. */
const PATIENCE_MS = 50;

/** After a failure Redis is left alone for so long: a hanging one then costs one wait a second. */
const PAUSE_MS = 1_000;

const CONNECT_TIMEOUT_MS = 1_000;
const RECONNECT_MS = 500;

/** Takes a `redis://` address and the limits to count with meanwhile. Starts without Redis, too. */
export async function openRedisLimits(
  url: string,
  parts: { clock: Clock; insurance: Limits; log: Log },
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
  let pausedUntil = Number.NEGATIVE_INFINITY;

  return {
    async take(name, address) {
      if (clock.monotonic() < pausedUntil) return await insurance.take(name, address);
      const rate = await ask(limiters[name], name, address);
      if (rate === undefined) {
        pausedUntil = clock.monotonic() + PAUSE_MS;
        tell(true);
        return await insurance.take(name, address);
      }
      tell(false);
      return rate;
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
  name: RateName,
  address: string,
): Promise<Rate | undefined> {
  // The library rejects with its result where the limit is exceeded, and with an Error otherwise.
  const answer = limiter.consume(address).catch((refused: unknown) => refused);
  const result = await Promise.race([answer, after(PATIENCE_MS).then(whatHasArrived)]);
  return result instanceof RateLimiterRes
    ? rateOf(name, result.consumedPoints, result.msBeforeNext)
    : undefined;
}

function after(ms: number): Promise<undefined> {
  return new Promise((resolve) => void setTimeout(() => resolve(undefined), ms).unref());
}

/** A process that was busy or paused reads first what Redis has long said: the delay was its own. */
function whatHasArrived(): Promise<undefined> {
  return new Promise((resolve) => void setImmediate(resolve, undefined));
}
