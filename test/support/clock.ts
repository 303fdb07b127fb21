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
