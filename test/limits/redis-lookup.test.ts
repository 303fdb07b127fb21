import dns from 'node:dns';
import { syncBuiltinESMExports } from 'node:module';
import net from 'node:net';
import { afterEach, expect, test, vi } from 'vitest';
import { openMemoryLimits } from '../../src/limits/limits.ts';
import { openRedisLimits } from '../../src/limits/redis.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { openLog } from '../../src/platform/log.ts';
import { until } from '../support/until.ts';

afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test('starts no second DNS lookup for Redis while the first is running, although it connects again', async () => {
  const asked: unknown[] = [];
  const silent = (...of: unknown[]) => void asked.push(of);
  vi.spyOn(dns, 'lookup').mockImplementation(silent as unknown as typeof dns.lookup);
  const connecting = vi.spyOn(net, 'createConnection');
  syncBuiltinESMExports();
  const limits = await openRedisLimits('redis://redis.test:6379', {
    clock: systemClock,
    fallback: openMemoryLimits(systemClock),
    log: openLog('silent'),
  });
  // Each attempt ends after a second and another follows, while the first lookup continues.
  await until(() => connecting.mock.calls.length >= 2);
  expect(asked).toHaveLength(1);
  await limits.close();
});
