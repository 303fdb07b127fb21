/** Limits kept in this process. */

import type { Clock } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import { type Limits, type Rate, type RateName, rateOf } from './limits.ts';

/** So many windows of a rate are in one half at most: some 13 MB. */
const HALF_MAXIMUM = 100_000;

type Window = { taken: number; endsAt: number };

export type MemoryLimits = Limits & {
  /** What is counted elsewhere: here the count goes on from there, until the same end. */
  learn(name: RateName, address: string, taken: number, msLeft: number): void;
  /** What one request more would be told, without counting it. */
  look(name: RateName, address: string): Rate;
};

/**
 * Counts on the monotonic clock: a step of the wall clock moves no limit, which the libraries' own
 * memory stores can't say.
 */
export function openMemoryLimits(clock: Clock): MemoryLimits {
  // Windows with nothing left are kept apart: a flood of addresses that ask once pushes out windows
  // that are not full, and gives nobody a fresh one who has reached a limit (contract §4).
  const windows = Object.fromEntries(
    Object.entries(bounds.rates).map(([name, { windowSeconds }]) => [
      name,
      { open: openWindows(windowSeconds * 1000), full: openWindows(windowSeconds * 1000) },
    ]),
  ) as Record<RateName, { open: Windows; full: Windows }>;

  const find = (name: RateName, address: string, now: number): Window | undefined =>
    windows[name].open.find(address, now) ?? windows[name].full.find(address, now);

  const keepFull = (name: RateName, address: string, window: Window, now: number): void => {
    windows[name].open.forget(address);
    windows[name].full.keep(address, window, now);
  };

  return {
    async take(name, address) {
      const now = clock.monotonic();
      const { limit, windowSeconds } = bounds.rates[name];
      let window = find(name, address, now);
      if (window === undefined) {
        window = { taken: 0, endsAt: now + windowSeconds * 1000 };
        windows[name].open.keep(address, window, now);
      }
      window.taken += 1;
      if (window.taken === limit) keepFull(name, address, window, now);
      return rateOf(name, window.taken, window.endsAt - now);
    },
    look(name, address) {
      const now = clock.monotonic();
      const { taken, endsAt } = find(name, address, now) ?? { taken: 0, endsAt: now };
      return rateOf(name, taken + 1, endsAt - now);
    },
    isInsured: () => false,
    learn(name, address, taken, msLeft) {
      const now = clock.monotonic();
      const window = { taken, endsAt: now + msLeft };
      windows[name].full.forget(address);
      if (taken >= bounds.rates[name].limit) keepFull(name, address, window, now);
      else windows[name].open.keep(address, window, now);
    },
    close: async () => {},
  };
}

type Windows = {
  /** The window of an address that has not ended. */
  find(address: string, now: number): Window | undefined;
  keep(address: string, window: Window, now: number): void;
  forget(address: string): void;
};

/**
 * Windows that last so many milliseconds, in two halves by age. What is older than a whole window has
 * ended and is let go with its half, so that no request waits for the removal of a million. A half that is
 * full is closed early: then the oldest go before their end.
 */
function openWindows(lastMs: number): Windows {
  let young = new Map<string, Window>();
  let old = new Map<string, Window>();
  let begunAt = Number.NEGATIVE_INFINITY;
  return {
    find(address, now) {
      const window = young.get(address) ?? old.get(address);
      return window !== undefined && window.endsAt > now ? window : undefined;
    },
    keep(address, window, now) {
      if (now - begunAt >= lastMs || young.size >= HALF_MAXIMUM) {
        old = young;
        young = new Map();
        begunAt = now;
      }
      young.set(address, window);
    },
    forget(address) {
      young.delete(address);
      old.delete(address);
    },
  };
}
