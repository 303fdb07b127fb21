/**
 * The rates of spec §8 as a table, counted by client address (contract §4, "Client address").
 * A window starts with an address's first request and allows the whole number at once.
 */
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
  /** Counts one request of an address against a rate. It never fails. */
  take(name: RateName, address: string): Promise<Rate>;
  /** Whether they are counted in this process because the shared ones are away. */
  isInsured(): boolean;
  close(): Promise<void>;
};

/** Takes how many were taken in a window and how long it lasts, in milliseconds. */
export function rateOf(name: RateName, taken: number, msLeft: number): Rate {
  const { limit } = rates[name];
  return {
    exceeded: taken > limit,
    remaining: Math.max(0, limit - taken),
    resetSeconds: Math.max(1, Math.ceil(msLeft / 1000)),
  };
}
