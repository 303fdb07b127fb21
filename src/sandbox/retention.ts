/**
 * Deletes executions and confirmations of sandbox clients after 24 hours, with their content and with the reports that
 * came from them (reference §27.6). Each instance runs this job.
 */
import { BATCH_ROWS, deleteExecutions } from '../actions/retention.ts';
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { Storage } from '../storage/database.ts';

const LIFETIME_MS = 86_400_000;
const EVERY_MS = 3_600_000;
/** Delay of the first run, so that it does not slow down the requests right after a start. */
const FIRST_AFTER_MS = 60_000;

/** Returns the job. Its `work` throws `StorageUnavailable`. */
export function openSandboxRetention({ storage, clock, log }: { storage: Storage; clock: Clock; log: Log }): Job {
  /** Deletes one batch in one transaction, and returns the number of executions. */
  const deleteBatch = (before: string) =>
    storage.write(async (tx) => {
      const ids = await deleteExecutions(storage, tx, { before, isSandbox: true });
      if (ids.length > 0) {
        await tx.deleteFrom('sandbox_contents').where('id', 'in', ids).execute();
        await tx.deleteFrom('confirmations').where('id', 'in', ids).execute();
      }
      return ids.length;
    });

  return openJob({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    everyMs: EVERY_MS,
    async work(signal) {
      const before = new Date(clock.now().getTime() - LIFETIME_MS).toISOString();
      let deleted = BATCH_ROWS;
      while (deleted === BATCH_ROWS && !signal.aborted) deleted = await deleteBatch(before);
      await storage.write((tx) =>
        tx.deleteFrom('confirmation_reports').where('sandbox', '=', 1).where('reported_at', '<', before).execute(),
      );
    },
    failed: (error) => log.error({ err: error }, 'tests of sandbox clients not deleted'),
  });
}
