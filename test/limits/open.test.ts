/** Which limits the settings ask for (contract §2, `REDIS_URL`). */
import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Limits } from '../../src/limits/limits.ts';
import { openLimits } from '../../src/limits/open.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { redisAnswers, redisUrl } from '../support/databases.ts';

const opened: Limits[] = [];
afterEach(async () => {
  for (const limits of opened.splice(0)) await limits.close();
});

async function open(environment: Record<string, string>): Promise<Limits> {
  const read = readSettings(environment);
  if (read.kind === 'invalid') throw new Error(read.faults.join());
  const limits = await openLimits(read.settings, systemClock, pino({ level: 'silent' }));
  opened.push(limits);
  return limits;
}

/** How many an address has left in the second of two services, once it has asked the first. */
async function leftInTheSecond(environment: Record<string, string>): Promise<number> {
  const [first, second] = await Promise.all([open(environment), open(environment)]);
  const address = randomUUID();
  await first.take('leads', address);
  return (await second.take('leads', address)).remaining;
}

test('without Redis each process counts for itself', async () => {
  expect(await leftInTheSecond({})).toBe(4);
});

test.runIf(redisAnswers)('with Redis they count together', async () => {
  expect(await leftInTheSecond({ REDIS_URL: redisUrl })).toBe(3);
});

test('with a Redis that is away each counts for itself, and says that it does', async () => {
  const environment = { REDIS_URL: 'redis://127.0.0.1:1' };
  expect(await leftInTheSecond(environment)).toBe(4);
  expect(opened.map((limits) => limits.isInsured())).toEqual([true, true]);
});
