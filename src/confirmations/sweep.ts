/**
 * Ends expired confirmations every five seconds, and deletes old confirmations every hour (reference §6.7). Each
 * instance runs this job.
 */
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Storage } from '../storage/database.ts';
import type { PendingConfirmations } from './pending.ts';

const EVERY_MS = 5_000;
const DELETE_EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

type SweepParts = {
  storage: Storage;
  clock: Clock;
  log: Log;
  pending: Pick<PendingConfirmations, 'expire'>;
  metrics: Pick<Metrics, 'countConfirmation'>;
  /** Retention of receipts and reports, in days. */
  days: number;
};

/** Returns the job. Its `work` throws `StorageUnavailable`. */
export function openSweep({ storage, clock, log, pending, metrics, days }: SweepParts): Job {
  let deletedAt = Number.NEGATIVE_INFINITY;

  async function deleteOld(): Promise<void> {
    const before = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
    // A confirmation is deleted after its receipt, whose deletion also depends on the lease clock.
    await storage.write((tx) =>
      tx
        .deleteFrom('confirmations')
        .where('created_at', '<', before(days * DAY_MS))
        .where((row) =>
          row.not(
            row.exists(
              row
                .selectFrom('executions')
                .select('executions.action_id')
                .whereRef('executions.action_id', '=', 'confirmations.id'),
            ),
          ),
        )
        .execute(),
    );
    await storage.write((tx) =>
      tx
        .deleteFrom('confirmation_reports')
        .where('reported_at', '<', before(days * DAY_MS))
        .execute(),
    );
    await storage.write((tx) => tx.deleteFrom('confirmation_codes').where('asked_at', '<=', before(DAY_MS)).execute());
  }

  return openJob({
    clock,
    everyMs: EVERY_MS,
    async work() {
      metrics.countConfirmation('expired', await pending.expire());
      if (clock.monotonic() - deletedAt < DELETE_EVERY_MS) return;
      await deleteOld();
      deletedAt = clock.monotonic();
    },
    failed: (error) => log.error({ err: error }, 'overdue confirmations not expired'),
  });
}
