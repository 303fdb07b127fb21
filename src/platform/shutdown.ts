/** Ends the process without cutting a request short (reference §20.6). */
import type { Clock } from './clock.ts';

/**
 * Time for a proxy to notice that the instance is not ready. A connection that waits to be accepted when the port closes
 * is reset, and its request is lost.
 */
const NOTICE_MS = 3_000;

/** Part of the drain's time limit that is reserved for closing the components, in milliseconds. */
const CLOSING_MS = 1_000;

export type Drain = {
  /** Returns true once the drain has begun: `/readyz` answers 503. Requests are accepted until `isRefusing` is true. */
  isDraining(): boolean;
  /** Returns true if the port is closed or closes now. Then the service refuses every further request. */
  isRefusing(): boolean;
  /** Calls back when the drain begins. */
  onDraining(callback: () => void): void;
  /** Performs the steps once. Resolves when all steps have ended. */
  drain(steps: DrainSteps): Promise<void>;
};

type DrainSteps = {
  /** True if a proxy polls readiness. The drain then gives the proxy time to notice. */
  isWatched: boolean;
  /** Time limit for the whole drain, in milliseconds. */
  withinMs: number;
  /** Ends the periodic jobs, above all the outbox, while requests go on. */
  endWork(): Promise<void>;
  /** Closes the port, then waits for the accepted requests. */
  endRequests(): Promise<void>;
  /**
   * Closes the connections of the remaining requests. All sends have ended by then, so these are requests that their
   * clients never sent in full.
   */
  cutRequests(): void;
  /** Closes the components, which nothing uses any more. */
  closeParts(): Promise<void>;
};

export function openDrain(clock: Clock): Drain {
  let draining = false;
  let refusing = false;
  const callbacks: (() => void)[] = [];
  return {
    isDraining: () => draining,
    isRefusing: () => refusing,
    onDraining: (callback) => void callbacks.push(callback),
    async drain(steps) {
      draining = true;
      for (const callback of callbacks) callback();
      const workEnded = steps.endWork();
      const cancel = clock.after(steps.withinMs - CLOSING_MS, steps.cutRequests);
      if (steps.isWatched) await clock.sleep(NOTICE_MS);
      refusing = true;
      await steps.endRequests();
      cancel();
      await workEnded;
      await steps.closeParts();
    },
  };
}
