/** A machine of a run: its clocks, which a restart or a step of the wall clock moves. */
import type { Random } from '../chaos/random.ts';
import type { Ledger } from './ledger.ts';
import type { Scheduler } from './scheduler.ts';

export type Machine = {
  name: string;
  /** What the monotonic clock says: milliseconds since it was started. */
  uptime(): number;
  /** The monotonic clock begins anew; whoever calls ends the processes. */
  restart(): void;
  /** How far the wall clock is from the run's own time, in milliseconds. */
  wallStepMs(): number;
  stepWall(ms: number): void;
};

/** Long enough that nothing comes due by waiting until it is up as long again. */
const UP_BEFORE_MS = 100 * 86_400_000;

/** Takes its number among the machines of the run: no two have been up for as long. */
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
