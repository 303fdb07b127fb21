/**
 * Deletes settled executions after `RECEIPT_RETENTION_DAYS`, with their consent and idempotency key. Each instance runs
 * this job, which deletes nothing in the embedded inbox.
 */
import type { ExpressionBuilder } from 'kysely';
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { Schema } from '../storage/schema.ts';
import { PREVIEW_LIFETIME_MS } from './preview-token.ts';

const DAY_MS = 86_400_000;
const EVERY_MS = 3_600_000;
/** Delay of the first run, so that it does not slow down the requests right after a start. */
const FIRST_AFTER_MS = 60_000;
/** Number of rows in one commit. Claims wait a few milliseconds for the commit. */
export const BATCH_ROWS = 200;

type RetentionOptions = { storage: Storage; clock: Clock; log: Log; days: number };

/** Returns the job. Its `work` returns the number of deleted receipts and throws `StorageUnavailable`. */
export function openRetention({ storage, clock, log, days }: RetentionOptions): Job<number> {
  return openJob({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    everyMs: EVERY_MS,
    async work(signal) {
      const before = new Date(clock.now().getTime() - days * DAY_MS).toISOString();
      for (let total = 0; ; ) {
        const { length: deleted } = await storage.write((tx) =>
          deleteExecutions(storage, tx, { before, isSandbox: false }),
        );
        total += deleted;
        if (deleted < BATCH_ROWS || signal.aborted) return total;
      }
    },
    done(count) {
      if (count > 0) log.info({ count }, 'receipts past retention deleted');
    },
    failed: (error) => log.error({ err: error }, 'receipts past retention not deleted'),
  });
}

type Due = { before: string; isSandbox: boolean };

/**
 * Deletes one batch of settled executions and returns their ids. A receipt stays while its preview may still be valid
 * according to the lease clock. Otherwise, a wrong wall clock could delete the receipt, and the preview could be
 * executed a second time.
 */
export async function deleteExecutions(
  { dialect }: Storage,
  tx: OpenTransaction,
  { before, isSandbox }: Due,
): Promise<string[]> {
  const { leaseClock } = dialect;
  const claimedLately = (row: ExpressionBuilder<Schema, 'executions'>) =>
    row.and([
      row('lease_started_ms', '>', row(leaseClock, '-', PREVIEW_LIFETIME_MS)),
      // A lease start in the future is from before a restart. It is recent until the machine has run long enough.
      row.or([row('lease_started_ms', '<=', leaseClock), row(leaseClock, '<', PREVIEW_LIFETIME_MS)]),
    ]);
  const deleted = await tx
    .with('due', (within) =>
      within
        .selectFrom('executions')
        .select('preview_digest')
        .where('status', '<>', dialect.constant('executing'))
        .where('sandbox', '=', dialect.constant(isSandbox ? 1 : 0))
        .where('created_at', '<', before)
        .where((row) => row.not(claimedLately(row)))
        .orderBy('created_at')
        .limit(dialect.constant(BATCH_ROWS))
        // Another instance may delete these rows.
        .$call(dialect.skipLocked),
    )
    .deleteFrom('executions')
    .where('preview_digest', 'in', (due) => due.selectFrom('due').select('preview_digest'))
    .returning('action_id')
    .execute();
  return deleted.map(({ action_id }) => action_id);
}
