/** Time and timers. No other file in `src` reads a clock or waits, so that tests and the simulator can replace them. */
import { memoizeLast } from './lazy.ts';

export type Clock = {
  /** Returns the time of the wall clock. */
  now(): Date;
  /**
   * Returns the whole milliseconds since the machine booted. The value is the same in all processes of the machine. A
   * step of the wall clock does not change it.
   */
  monotonic(): number;
  sleep(ms: number): Promise<void>;
  /**
   * Calls back once after `ms` milliseconds. Returns the function that cancels the timer. The timer keeps no process
   * alive.
   */
  after(ms: number, callback: () => void): () => void;
  /** Resolves in the next turn of the event loop, after everything that has arrived was read. */
  turn(): Promise<void>;
};

/**
 * Accepted difference between the wall clocks of instances, in milliseconds. A preview, code, token or link that seems
 * to be made later than that would live longer, because the clock was set back.
 */
export const CLOCKS_APART_MS = 60_000;

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
 * Returns a time in milliseconds as ISO 8601 in UTC. The last result is remembered, because under load many callers
 * need the same millisecond.
 */
export const isoTime = memoizeLast((ms: number): string => new Date(ms).toISOString());

/** Returns true if a text is a time as `isoTime` spells it. */
export function isIsoTime(text: string): boolean {
  const ms = Date.parse(text);
  return !Number.isNaN(ms) && isoTime(ms) === text;
}

/** Returns milliseconds with fractions, for logs and measurements on which no decision depends. */
export const stopwatch = (): number => performance.now();

/** Calls back every `ms` milliseconds. Returns the function that cancels the timer. */
export function every(clock: Clock, ms: number, callback: () => void): () => void {
  const run = () => {
    cancel = clock.after(ms, run);
    callback();
  };
  let cancel = clock.after(ms, run);
  return () => cancel();
}

/**
 * Returns the time zone of the process (TZ), or undefined if Intl can't resolve it. In that case callers use UTC
 * (reference §20.4).
 */
export function processTimeZone(): string | undefined {
  const zone: string | undefined = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return zone !== undefined && isTimeZone(zone) ? zone : undefined;
}

/** Returns true if the platform has a time zone of that name. */
export function isTimeZone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
