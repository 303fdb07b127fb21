/** What is done again and again beside requests: retention and sweeps, by whichever instance is there. */
import type { Clock } from '../clock.ts';

export type Upkeep = {
  start(): void;
  /** Waits for the work under way, which sees that it is closing and ends with the batch it is at. */
  close(): Promise<void>;
  isClosing(): boolean;
};

/**
 * Takes when work first begins after `start` and how often it does (milliseconds), what it is, and what tells that
 * it failed: once, however often it is tried until it can be done. It never overlaps itself.
 */
export function openUpkeep(parts: {
  clock: Clock;
  firstAfterMs: number;
  everyMs: number;
  work(): Promise<void>;
  failed(error: unknown): void;
}): Upkeep {
  const { clock, firstAfterMs, everyMs, work, failed } = parts;
  let callOff: (() => void) | undefined;
  let working: Promise<void> | undefined;
  let closing = false;
  let failing = false;

  async function workAloud(): Promise<void> {
    try {
      await work();
      failing = false;
    } catch (error) {
      if (!failing) failed(error);
      failing = true;
    }
  }

  function tick(): void {
    callOff = clock.after(everyMs, tick);
    working ??= workAloud().finally(() => {
      working = undefined;
    });
  }

  return {
    start() {
      callOff ??= clock.after(firstAfterMs, tick);
    },
    async close() {
      closing = true;
      callOff?.();
      await working;
    },
    isClosing: () => closing,
  };
}
