/** Time zones, which come from settings, and timers. */
import { afterEach, describe, expect, test, vi } from 'vitest';
import { every, isTimeZone, processTimeZone, systemClock } from '../../src/platform/clock.ts';
import { steppedClock } from '../support/clock.ts';

test.each([
  ['Europe/Berlin', true],
  ['UTC', true],
  ['Europe/Atlantis', false],
  ['', false],
])('isTimeZone(%j) is %s', (name, expected) => {
  expect(isTimeZone(name)).toBe(expected);
});

describe('processTimeZone', () => {
  afterEach(() => vi.unstubAllEnvs());

  test('returns the zone of TZ', () => {
    vi.stubEnv('TZ', 'Asia/Kolkata');
    expect(processTimeZone()).toMatch(/^Asia\/(Kolkata|Calcutta)$/);
  });

  test('returns undefined if Intl resolves no zone, or one that it does not accept itself', () => {
    const resolved = vi.spyOn(Intl.DateTimeFormat.prototype, 'resolvedOptions');
    for (const timeZone of [undefined, 'Etc/Unknown']) {
      resolved.mockReturnValueOnce({ timeZone } as never);
      expect(processTimeZone()).toBeUndefined();
    }
    resolved.mockRestore();
  });
});

test('every calls back after each period until it is cancelled', () => {
  const clock = steppedClock();
  let calls = 0;
  const cancel = every(clock, 1_000, () => {
    calls += 1;
  });
  for (const [ms, expected] of [
    [999, 0],
    [1, 1],
    [1_000, 2],
  ] as const) {
    clock.advance(ms);
    expect(calls).toBe(expected);
  }
  cancel();
  clock.advance(1_000);
  expect(calls).toBe(2);
});

test('a timer of the machine calls back once, unless it is cancelled, and time does not run backwards', async () => {
  const calls: string[] = [];
  const before = systemClock.monotonic();
  systemClock.after(1, () => calls.push('kept'));
  systemClock.after(1, () => calls.push('cancelled'))();
  await systemClock.sleep(20);
  expect(calls).toEqual(['kept']);
  expect(systemClock.monotonic() - before).toBeGreaterThanOrEqual(19);
  expect(Math.abs(systemClock.now().getTime() - Date.now())).toBeLessThan(1_000);
});
