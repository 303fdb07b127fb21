import { type Clock, systemClock } from '../../src/platform/clock.ts';

export type TestClock = Clock & {
  /** Moves both clocks on, in milliseconds. */
  advance(ms: number): void;
  /** Steps the wall clock alone. */
  step(ms: number): void;
};

/** A clock that stands until it is moved; what waits, waits by the machine's own. */
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
