/**
 * Time as a part, so that tests and the simulator can own it: nothing else in `src` reads a clock or
 * waits (`npm run check` sees to it).
 */
import { keepingLast } from './once.ts';

export type Clock = {
  /** The wall clock: what people read. */
  now(): Date;
  /**
   * Whole milliseconds since the machine booted, shared by every process on it and unmoved by steps of
   * the wall clock.
   */
  monotonic(): number;
  /** Resolves after so many milliseconds. */
  sleep(ms: number): Promise<void>;
  /** Calls back once after so many milliseconds, unless it is called off; keeps no process alive. */
  after(ms: number, callback: () => void): () => void;
  /** Resolves in the next turn of the event loop: what has arrived by then was read. */
  turn(): Promise<void>;
};

/** The machine's own clocks and timers. */
export const systemClock: Clock = {
  now: () => new Date(),
  monotonic: () => Number(process.hrtime.bigint() / 1_000_000n),
  sleep: (ms) => new Promise((resolve) => void setTimeout(resolve, ms)),
  after: (ms, callback) => {
    const timer = setTimeout(callback, ms).unref();
    return () => clearTimeout(timer);
  },
  turn: () => new Promise((resolve) => void setImmediate(resolve)),
};

/**
 * A moment of the wall clock, in milliseconds, as ISO 8601 in UTC. Under load one millisecond is written in
 * many places: once for all of them.
 */
export const isoTime = keepingLast((ms: number): string => new Date(ms).toISOString());

/** Milliseconds with fractions since some moment: for logs and measurements, which decide nothing. */
export const stopwatch = (): number => performance.now();

/** Calls back again and again, so many milliseconds apart, until it is called off. */
export function every(clock: Clock, ms: number, callback: () => void): () => void {
  const run = () => {
    callOff = clock.after(ms, run);
    callback();
  };
  let callOff = clock.after(ms, run);
  return () => callOff();
}
