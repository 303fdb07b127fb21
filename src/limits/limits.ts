/**
 * Counts the requests for the rates of reference §17.2 by client address (reference §3.4), in this process. A window
 * starts with an address's first request. All requests that the rate allows may come at once.
 */
import { bounds } from '../forms/bounds.ts';
import type { Clock } from '../platform/clock.ts';

export type RateName = keyof typeof bounds.rates;

export type Rate = {
  exceeded: boolean;
  remaining: number;
  /** Seconds until the window ends, at least 1. */
  resetSeconds: number;
};

export type Limits = {
  /** Counts one request of an address against a rate. Never throws. */
  take(name: RateName, address: string): Promise<Rate>;
  /** Takes back one counted request of an address. Never throws. */
  giveBack(name: RateName, address: string): Promise<void>;
  /** Returns true if this process counts alone because Redis is unavailable. */
  usesFallback(): boolean;
  close(): Promise<void>;
};

/** Returns a value for each rate. */
export function eachRate<T>(make: (rate: { limit: number; windowSeconds: number }, name: RateName) => T) {
  const entries = Object.entries(bounds.rates).map(([name, rate]) => [name, make(rate, name as RateName)]);
  return Object.fromEntries(entries) as Record<RateName, T>;
}

/** Returns the rate of a window. `taken` is the number of requests in the window, `msLeft` the time until its end. */
export function rateOf(name: RateName, taken: number, msLeft: number): Rate {
  const { limit } = bounds.rates[name];
  return {
    exceeded: taken > limit,
    remaining: Math.max(0, limit - taken),
    resetSeconds: Math.max(1, Math.ceil(msLeft / 1000)),
  };
}

/** Maximum number of windows in one half (`openWindows`). A full half uses about 13 MB of memory. */
const HALF_MAXIMUM = 100_000;

type Window = { taken: number; endsAt: number };

export type MemoryLimits = Limits & {
  /** Takes over a count of Redis. `taken` is the number of requests, `msLeft` the time until the window's end. */
  learn(name: RateName, address: string, taken: number, msLeft: number): void;
  /** Returns the rate that one more request would get, without counting it. */
  peek(name: RateName, address: string): Rate;
};

/** Counts on the monotonic clock, so that the wall clock moves no limit. Stores of libraries use the wall clock. */
export function openMemoryLimits(clock: Clock): MemoryLimits {
  // Windows that have reached the limit are separate. A flood of addresses with one request each pushes out other
  // windows, but gives no new window to an address that has reached a limit (reference §17.1 rule 7).
  const windows = eachRate(({ windowSeconds }) => ({
    open: openWindows(windowSeconds * 1000),
    full: openWindows(windowSeconds * 1000),
  }));

  const find = (name: RateName, address: string, now: number): Window | undefined =>
    windows[name].open.find(address, now) ?? windows[name].full.find(address, now);

  const moveToFull = (name: RateName, address: string, window: Window, now: number): void => {
    windows[name].open.delete(address);
    windows[name].full.set(address, window, now);
  };

  return {
    async take(name, address) {
      const now = clock.monotonic();
      const { limit, windowSeconds } = bounds.rates[name];
      let window = find(name, address, now);
      if (window === undefined) {
        window = { taken: 0, endsAt: now + windowSeconds * 1000 };
        windows[name].open.set(address, window, now);
      }
      window.taken += 1;
      if (window.taken === limit) moveToFull(name, address, window, now);
      return rateOf(name, window.taken, window.endsAt - now);
    },
    async giveBack(name, address) {
      const now = clock.monotonic();
      const window = find(name, address, now);
      if (window === undefined) return;
      window.taken -= 1;
      if (window.taken !== bounds.rates[name].limit - 1) return;
      windows[name].full.delete(address);
      windows[name].open.set(address, window, now);
    },
    peek(name, address) {
      const now = clock.monotonic();
      const { taken, endsAt } = find(name, address, now) ?? { taken: 0, endsAt: now };
      return rateOf(name, taken + 1, endsAt - now);
    },
    usesFallback: () => false,
    learn(name, address, taken, msLeft) {
      const now = clock.monotonic();
      const window = { taken, endsAt: now + msLeft };
      windows[name].full.delete(address);
      if (taken >= bounds.rates[name].limit) moveToFull(name, address, window, now);
      else windows[name].open.set(address, window, now);
    },
    close: async () => {},
  };
}

/**
 * Holds windows of `lastMs` milliseconds in two halves by age. Windows that have ended are dropped with their half, so
 * that no request waits for the removal of many windows. If a half is full, the oldest windows end early.
 */
function openWindows(lastMs: number) {
  let young = new Map<string, Window>();
  let old = new Map<string, Window>();
  let startedAt = Number.NEGATIVE_INFINITY;
  return {
    find(address: string, now: number): Window | undefined {
      const window = young.get(address) ?? old.get(address);
      return window !== undefined && window.endsAt > now ? window : undefined;
    },
    set(address: string, window: Window, now: number): void {
      if (now - startedAt >= lastMs || young.size >= HALF_MAXIMUM) {
        old = young;
        young = new Map();
        startedAt = now;
      }
      young.set(address, window);
    },
    delete(address: string): void {
      young.delete(address);
      old.delete(address);
    },
  };
}
