import { type Clock, systemClock } from '../../src/platform/clock.ts';

export type TestClock = Clock & {
  /** Advances the wall clock and the monotonic clock by this many milliseconds. */
  advance(ms: number): void;
  /** Moves only the wall clock, by this many milliseconds. */
  step(ms: number): void;
};

/** Returns a clock that moves only by `advance` and `step`. Timers still use the real clock. */
export function testClock(start = '2026-09-01T12:00:00.000Z'): TestClock {
  let wall = Date.parse(start);
  let monotonic = 1_000_000;
  return {
    now: () => new Date(wall),
    monotonic: () => monotonic,
    sleep: systemClock.sleep,
    after: systemClock.after,
    turn: systemClock.turn,
    advance: (ms) => {
      wall += ms;
      monotonic += ms;
    },
    step: (ms) => {
      wall += ms;
    },
  };
}

/** Returns a test clock whose timers also run only with `advance`. */
export function steppedClock(): TestClock {
  const clock = testClock();
  const timers = new Map<object, { at: number; callback: () => void }>();
  const after = (ms: number, callback: () => void) => {
    const key = {};
    timers.set(key, { at: clock.monotonic() + ms, callback });
    return () => void timers.delete(key);
  };
  return {
    ...clock,
    after,
    sleep: (ms) => new Promise((resolve) => void after(ms, resolve)),
    advance: (ms) => {
      clock.advance(ms);
      for (const [key, { at, callback }] of timers) {
        if (at > clock.monotonic() || !timers.delete(key)) continue;
        callback();
      }
    },
  };
}
