/**
 * Hourly, whether the console is on or not: its rows go when their time is over (beyond §7). The room itself is
 * loaded only then.
 */
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import { openUpkeep } from '../operations/upkeep.ts';
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

  async function work(): Promise<void> {
    const { forgetOld } = await import('../console/forget.ts');
    await forgetOld(storage, { nowMs: clock.now().getTime(), days });
  }

  const { start, close } = openUpkeep({
    clock,
    firstAfterMs: EVERY_MS,
    everyMs: EVERY_MS,
    work,
    failed: (error) => log.error({ err: error }, 'old rows of the console could not be deleted'),
  });
  return { work, start, close };
}
