/** The clocks of a simulated machine. A restart moves the monotonic clock, and a step moves the wall clock. */
import type { Random } from '../chaos/random.ts';
import type { Ledger } from './ledger.ts';
import type { Scheduler } from './scheduler.ts';

export type Machine = {
  name: string;
  /** Returns the monotonic clock, in milliseconds since the machine started. */
  uptime(): number;
  /** Restarts the monotonic clock. The caller ends the machine's processes. */
  restart(): void;
  /** Returns the offset of the wall clock from the run's own time, in milliseconds. */
  wallStepMs(): number;
  stepWall(ms: number): void;
};

/** Uptime at the start of a run. No run lasts until a restarted machine reaches its earlier uptime again. */
const UP_BEFORE_MS = 100 * 86_400_000;

/** Starts a machine. Machines with different numbers have different uptimes. */
export function startMachine(
  number: number,
  { scheduler, ledger, random }: { scheduler: Scheduler; ledger: Ledger; random: Random },
): Machine {
  const name = `machine ${number}`;
  let upBefore = UP_BEFORE_MS * number;
  let since = 0;
  let wallStepMs = 0;
  return {
    name,
    uptime: () => upBefore + scheduler.time() - since,
    restart: () => {
      upBefore = random.between(5_000, 20_000);
      since = scheduler.time();
      ledger.note(() => `${name} is restarted`);
    },
    wallStepMs: () => wallStepMs,
    stepWall: (ms) => {
      if (ms === wallStepMs) return;
      wallStepMs = ms;
      if (ms !== 0) ledger.stepped = true;
      ledger.note(() => `the wall clock of ${name} is now ${ms / 1000} s off`);
    },
  };
}
