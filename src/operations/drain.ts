/** How the process goes: nothing it has taken is cut short, and nobody is left waiting (contract §4, "Other routes"). */
import type { Clock } from '../clock.ts';

/**
 * How long a proxy has to see that readiness is off: a connection that waits to be accepted when the port
 * is closed is reset, and its request lost.
 */
const NOTICE_MS = 3_000;

/** What is kept of the whole time for closing the parts. */
const CLOSING_MS = 1_000;

export type Drain = {
  /** Readiness is off; requests are still taken. */
  isDraining(): boolean;
  /** The port is closed, or about to be: whatever still comes is refused. */
  isRefusing(): boolean;
  /** Calls back when the drain begins. */
  onDraining(callback: () => void): void;
  /** Goes through the steps, once; resolves when all of them are over. */
  drain(steps: DrainSteps): Promise<void>;
};

type DrainSteps = {
  /** A proxy asks for readiness: it gets time to notice. */
  isWatched: boolean;
  /** For everything. */
  withinMs: number;
  /** Ends what works by itself, the outbox above all, beside the requests. */
  endWork(): Promise<void>;
  /** Closes the port, then waits for the requests that were taken. */
  endRequests(): Promise<void>;
  /** Cuts the requests that are left: by then every send has ended, so they are those that never arrive whole. */
  cutRequests(): void;
  /** Nothing uses the parts any more. */
  closeParts(): Promise<void>;
};

/** The state of a process that is not draining yet. */
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
      const callOff = clock.after(steps.withinMs - CLOSING_MS, steps.cutRequests);
      if (steps.isWatched) await clock.sleep(NOTICE_MS);
      refusing = true;
      await steps.endRequests();
      callOff();
      await workEnded;
      await steps.closeParts();
    },
  };
}
