import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { pino } from 'pino';
import { afterEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openMemoryLimits } from '../../src/limits/memory.ts';
import { openRedisLimits } from '../../src/limits/redis.ts';
import { until } from '../support/until.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test('a Redis whose name nobody answers for is looked up once at a time, however often it is connected to', async () => {
  const asked: unknown[] = [];
  const silent = (...of: unknown[]) => void asked.push(of);
  vi.spyOn(dns, 'lookup').mockImplementation(silent as unknown as typeof dns.lookup);
  const connecting = vi.spyOn(net, 'createConnection');
  syncBuiltinESMExports();
  const limits = await openRedisLimits('redis://redis.test:6379', {
    clock: systemClock,
    insurance: openMemoryLimits(systemClock),
    log: pino({ level: 'silent' }),
  });
  // An attempt is given up after a second, and another follows; the look-up of the first goes on.
  await until(() => connecting.mock.calls.length >= 2);
  expect(asked).toHaveLength(1);
  await limits.close();
});
