/**
 * The rates of spec §8 as a table, counted by client address (contract §4, "Client address").
 * A window starts with an address's first request and allows the whole number at once.
 */
import type { Clock } from './clock.ts';

export const rates = {
  preview: { limit: 60, windowSeconds: 60 },
  execute: { limit: 20, windowSeconds: 60 },
  leads: { limit: 5, windowSeconds: 900 },
  subscribe: { limit: 5, windowSeconds: 900 },
} as const;

export type RateName = keyof typeof rates;

export type Rate = {
  exceeded: boolean;
  remaining: number;
  /** Until the window ends; at least 1. */
  resetSeconds: number;
};

export type Limits = {
  /** Counts one request of an address against a rate. */
  take(name: RateName, address: string): Promise<Rate>;
};

type Window = { taken: number; endsAt: number };

/** Ended windows are swept each time so many were opened: bounds memory under a flood. */
const SWEEP_EVERY = 10_000;

/**
 * Limits kept in this process, on the monotonic clock: a step of the wall clock moves none of them,
 * which the libraries' own memory stores can't say.
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
      const { limit } = rates[name];
      return {
        exceeded: window.taken > limit,
        remaining: Math.max(0, limit - window.taken),
        resetSeconds: Math.max(1, Math.ceil((window.endsAt - now) / 1000)),
      };
    },
  };
}
