/** Requests of very many addresses neither fill the memory nor reset a limit (API4). */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, test } from 'vitest';
import { type Limits, openMemoryLimits, type RateName } from '../../src/limits/limits.ts';
import { testClock } from '../support/clock.ts';

describe('limits under a flood of addresses', () => {
  /** Returns the used heap in bytes after a garbage collection. */
  const heapUsed = () => {
    setFlagsFromString('--expose-gc');
    runInNewContext('gc')();
    return process.memoryUsage().heapUsed;
  };

  let asked = 0;
  const flood = async (limits: Limits, name: RateName, count: number) => {
    for (let n = 0; n < count; n += 1) {
      asked += 1;
      await limits.take(name, `flood-${asked}`);
    }
  };

  test('start no new window for an address that has reached its limit', async () => {
    const clock = testClock();
    const limits = openMemoryLimits(clock);
    for (let n = 0; n < 5; n += 1) await limits.take('leads', 'a');
    limits.learn('leads', 'b', 5, 900_000);
    await flood(limits, 'leads', 250_000);
    // Another process counted one request of each of these addresses.
    for (let n = 0; n < 250_000; n += 1) limits.learn('leads', `learned-${n}`, 1, 900_000);
    clock.advance(899_999);
    expect((await limits.take('leads', 'a')).exceeded).toBe(true);
    expect((await limits.take('leads', 'b')).exceeded).toBe(true);
    clock.advance(1);
    expect((await limits.take('leads', 'a')).remaining).toBe(4);
    expect((await limits.take('leads', 'b')).remaining).toBe(4);
  });

  test('free the memory of ended windows when later windows begin', async () => {
    const clock = testClock();
    const limits = openMemoryLimits(clock);
    await limits.take('preview', 'before');
    await flood(limits, 'preview', 90_000);
    // 10 MB. Memory of earlier test files may be freed too, which only increases the difference.
    const flooded = heapUsed();
    for (let n = 0; n < 2; n += 1) {
      clock.advance(60_000);
      await limits.take('preview', 'after');
    }
    expect(flooded - heapUsed()).toBeGreaterThan(8_000_000);
    expect((await limits.take('preview', 'after')).remaining).toBe(58);
  });

  test('keep a count that giveBack left at the limit, but not one that it took below the limit', async () => {
    const limits = openMemoryLimits(testClock());
    const remainingAfter = async (address: string, given: number) => {
      for (let n = 1; n <= 6; n += 1) await limits.take('leads', address);
      for (let n = 1; n <= given; n += 1) await limits.giveBack('leads', address);
      await flood(limits, 'leads', 200_000);
      return limits.peek('leads', address).remaining;
    };
    expect(await remainingAfter('a', 2)).toBe(4);
    expect(await remainingAfter('b', 1)).toBe(0);
  });

  test('store a bounded number of addresses, and remove them within 50 ms after their windows', async () => {
    const clock = testClock();
    const limits = openMemoryLimits(clock);
    await flood(limits, 'leads', 200_000);
    const before = heapUsed();
    await flood(limits, 'leads', 300_000);
    expect(heapUsed() - before).toBeLessThan(10_000_000);
    clock.advance(900_000);
    const startedAt = performance.now();
    await limits.take('leads', 'a');
    expect(performance.now() - startedAt).toBeLessThan(50);
  });
});
