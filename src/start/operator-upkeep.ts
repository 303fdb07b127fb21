/**
 * Hourly, whether the console is on or not: its rows go when their time is over (beyond §7). The room itself is
 * loaded only then.
 */
import { type Clock, every } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Storage } from '../storage/database.ts';

const EVERY_MS = 3_600_000;

/** Takes for how many days the audit is kept; does nothing before `start`. */
export function openOperatorUpkeep(parts: {
  storage: Storage;
  clock: Clock;
  log: Log;
  days: number;
}): { work(): Promise<void>; start(): void; close(): Promise<void> } {
  const { storage, clock, log, days } = parts;
  let stop = () => {};
  let working: Promise<void> | undefined;

  async function work(): Promise<void> {
    const { forgetOld } = await import('../console/forget.ts');
    await forgetOld(storage, { nowMs: clock.now().getTime(), days });
  }

  return {
    work,
    start() {
      stop = every(clock, EVERY_MS, () => {
        working ??= work()
          .catch((error) =>
            log.error({ err: error }, 'old rows of the console could not be deleted'),
          )
          .finally(() => {
            working = undefined;
          });
      });
    },
    async close() {
      stop();
      await working;
    },
  };
}
