/**
 * Retention of receipts, with the consent recorded in them: settled executions older than
 * `RECEIPT_RETENTION_DAYS` are deleted, and with each its idempotency key. Whichever instance is
 * there does it. What the inbox holds is the operator's: retention leaves it alone.
 */
import type { ExpressionBuilder } from 'kysely';
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import { openUpkeep } from '../operations/upkeep.ts';
import type { Storage } from '../storage/database.ts';
import { prepareChange } from '../storage/prepare-query.ts';
import type { Schema } from '../storage/schema.ts';
import { PREVIEW_LIFETIME_MS } from './preview-token.ts';

const DAY_MS = 86_400_000;
const EVERY_MS = 3_600_000;
/** Not in the first seconds, which belong to requests; soon enough for a process that is short-lived. */
const FIRST_AFTER_MS = 60_000;
/** One commit's worth: claims that wait for it wait a few milliseconds. */
const BATCH_ROWS = 200;

export type RetentionOptions = { storage: Storage; clock: Clock; log: Log; days: number };

export type Retention = {
  /** Deletes whatever is old enough, in batches; returns how many. Throws `StorageUnavailable`. */
  work(): Promise<number>;
  /** Works a minute from now and then every hour, until `close`. */
  start(): void;
  /** Waits for the batch under way. */
  close(): Promise<void>;
};

/** Does nothing before `work` or `start`; `days` is how long a receipt is kept at least. */
export function openRetention({ storage, clock, log, days }: RetentionOptions): Retention {
  const deleteBatch = prepareDeletion(storage);
  async function work(): Promise<number> {
    const before = new Date(clock.now().getTime() - days * DAY_MS).toISOString();
    for (let total = 0; ; ) {
      const deleted = await storage.write(deleteBatch({ before }));
      total += deleted;
      if (deleted < BATCH_ROWS || upkeep.isClosing()) return total;
    }
  }

  const upkeep = openUpkeep({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    everyMs: EVERY_MS,
    work: async () => {
      const count = await work();
      if (count > 0) log.info({ count }, 'receipts past their retention were deleted');
    },
    failed: (error) => log.error({ err: error }, 'old receipts could not be deleted'),
  });

  return { work, start: upkeep.start, close: upkeep.close };
}

/**
 * A preview that could still be executed keeps its receipt by the lease clock as well: a wall clock
 * that is years ahead can't make an execution happen twice.
 */
function prepareDeletion(storage: Storage) {
  const claimedLately = (row: ExpressionBuilder<Schema, 'executions'>) => {
    const { leaseClock } = storage.dialect;
    return row.and([
      row('lease_started_ms', '>', row(leaseClock, '-', PREVIEW_LIFETIME_MS)),
      // A start later than now was before the machine restarted: then it has to be up for as long.
      row.or([
        row('lease_started_ms', '<=', leaseClock),
        row(leaseClock, '<', PREVIEW_LIFETIME_MS),
      ]),
    ]);
  };
  return prepareChange(storage, (db, of: { before: string }) =>
    db
      .with('due', (within) =>
        within
          .selectFrom('executions')
          .select('preview_digest')
          .where('status', '<>', storage.dialect.constant('executing'))
          .where('created_at', '<', of.before)
          .where((row) => row.not(claimedLately(row)))
          .orderBy('created_at')
          .limit(storage.dialect.constant(BATCH_ROWS))
          // Another instance may be at it.
          .$call(storage.dialect.skipLocked),
      )
      .deleteFrom('executions')
      .where('preview_digest', 'in', (due) => due.selectFrom('due').select('preview_digest')),
  );
}
