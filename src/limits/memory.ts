/** Limits kept in this process. */

import type { Clock } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import { type Limits, type RateName, rateOf } from './limits.ts';

type Window = { taken: number; endsAt: number };

export type MemoryLimits = Limits & {
  /** What is counted elsewhere: here the count goes on from there, until the same end. */
  learn(name: RateName, address: string, taken: number, msLeft: number): void;
};

/**
 * Counts on the monotonic clock: a step of the wall clock moves no limit, which the libraries' own
 * memory stores can't say.
 */
export function openMemoryLimits(clock: Clock): MemoryLimits {
  // Windows of one rate are all as long: in the order they were opened is the order they end.
  const windows: Record<RateName, Map<string, Window>> = {
    preview: new Map(),
    execute: new Map(),
    leads: new Map(),
    subscribe: new Map(),
  };

  /** Forgets at each request what has ended since the last one: bounds memory under a flood. */
  const current = (name: RateName, now: number): Map<string, Window> => {
    const opened = windows[name];
    for (const [ended, { endsAt }] of opened) {
      if (endsAt > now) break;
      opened.delete(ended);
    }
    return opened;
  };

  return {
    async take(name, address) {
      const now = clock.monotonic();
      const opened = current(name, now);
      let window = opened.get(address);
      if (window === undefined || window.endsAt <= now) {
        window = { taken: 0, endsAt: now + bounds.rates[name].windowSeconds * 1000 };
        opened.set(address, window);
      }
      window.taken += 1;
      return rateOf(name, window.taken, window.endsAt - now);
    },
    isInsured: () => false,
    learn(name, address, taken, msLeft) {
      const now = clock.monotonic();
      current(name, now).set(address, { taken, endsAt: now + msLeft });
    },
    close: async () => {},
  };
}
