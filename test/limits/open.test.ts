/** The limits that the settings select (reference §20.3, `REDIS_URL`). */
import { randomUUID } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { Limits } from '../../src/limits/limits.ts';
import { openLimits } from '../../src/limits/redis.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openLog } from '../../src/platform/log.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { redisAnswers, redisUrl } from '../support/databases.ts';

const opened: Limits[] = [];
afterEach(async () => {
  for (const limits of opened.splice(0)) await limits.close();
});

async function open(environment: Record<string, string>): Promise<Limits> {
  const read = readSettings(environment);
  if (read.kind === 'invalid') throw new Error(read.faults.join());
  const limits = await openLimits(read.settings, systemClock, openLog('silent'));
  opened.push(limits);
  return limits;
}

/** Returns the remaining requests of an address in the second of two services, after one request to the first. */
async function leftInTheSecond(environment: Record<string, string>): Promise<number> {
  const [first, second] = await Promise.all([open(environment), open(environment)]);
  const address = randomUUID();
  await first.take('leads', address);
  return (await second.take('leads', address)).remaining;
}

test('openLimits counts separately in each process without REDIS_URL', async () => {
  expect(await leftInTheSecond({})).toBe(4);
});

test.runIf(redisAnswers)('openLimits counts all processes together with REDIS_URL', async () => {
  expect(await leftInTheSecond({ REDIS_URL: redisUrl })).toBe(3);
});

test('openLimits counts separately in each process if Redis is unavailable, and usesFallback returns true', async () => {
  const environment = { REDIS_URL: 'redis://127.0.0.1:1' };
  expect(await leftInTheSecond(environment)).toBe(4);
  expect(opened.map((limits) => limits.usesFallback())).toEqual([true, true]);
});
