/** Which limits the settings ask for. */
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { Limits } from './limits.ts';
import { openMemoryLimits } from './memory.ts';

/** Those of this process, or with `REDIS_URL` those that all instances share. */
export async function openLimits(settings: Settings, clock: Clock, log: Log): Promise<Limits> {
  const insurance = openMemoryLimits(clock);
  if (settings.redisUrl === undefined) return insurance;
  // Loaded only when a setting asks for it: a cold start pays for what it uses.
  const { openRedisLimits } = await import('./redis.ts');
  return await openRedisLimits(settings.redisUrl, { clock, insurance, log });
}
