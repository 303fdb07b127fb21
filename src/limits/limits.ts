/**
 * The rates of spec §8, counted by client address (contract §4, "Client address"). A window starts with
 * an address's first request and allows the whole number at once.
 */
import { bounds } from '../forms/bounds.ts';

export type RateName = keyof typeof bounds.rates;

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

/** Of a window with so many requests taken and so many milliseconds left. */
export function rateOf(name: RateName, taken: number, msLeft: number): Rate {
  const { limit } = bounds.rates[name];
  return {
    exceeded: taken > limit,
    remaining: Math.max(0, limit - taken),
    resetSeconds: Math.max(1, Math.ceil(msLeft / 1000)),
  };
}
