/** Limits kept in this process. */
import type { Clock } from '../clock.ts';
import { type Limits, type RateName, rateOf, rates } from './limits.ts';

type Window = { taken: number; endsAt: number };

/** Ended windows are swept each time so many were opened: bounds memory under a flood. */
const SWEEP_EVERY = 10_000;

/**
 * Counts on the monotonic clock: a step of the wall clock moves no limit, which the libraries' own
 * memory stores can't say.
 */
export function openMemoryLimits(clock: Clock): Limits {
  const windows = new Map<string, Window>();
  let opened = 0;

  const open = (key: string, now: number, name: RateName): Window => {
    opened += 1;
    if (opened % SWEEP_EVERY === 0) {
      for (const [ended, { endsAt }] of windows) if (endsAt <= now) windows.delete(ended);
    }
    const window = { taken: 0, endsAt: now + rates[name].windowSeconds * 1000 };
    windows.set(key, window);
    return window;
  };

  return {
    async take(name, address) {
      const key = `${name} ${address}`;
      const now = clock.monotonic();
      const standing = windows.get(key);
      const window = standing && standing.endsAt > now ? standing : open(key, now, name);
      window.taken += 1;
      return rateOf(name, window.taken, window.endsAt - now);
    },
    isInsured: () => false,
    close: async () => {},
  };
}
