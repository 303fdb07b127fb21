/**
 * Retention of submissions (reference §19.6), counted from the time of their status. First the content is deleted, then
 * the row. Rows of the embedded inbox stay until the operator deletes them, and rows under way or waiting stay as well.
 */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { Selects, Storage } from '../storage/database.ts';
import type { Schema } from '../storage/schema.ts';
import { redactedColumns } from './submission-queries.ts';

const DAY_MS = 86_400_000;
const EVERY_MS = 3_600_000;
/** Delay of the first run: at most ten seconds, but not within the first seconds, which belong to requests. */
const FIRST_AFTER_MS = 5_000;
/** Number of rows in one commit. Other writers wait a few milliseconds for the commit. */
const BATCH_ROWS = 200;

/** Days for the operator to handle an undelivered submission, whatever the setting of the retention. */
const UNDELIVERED_DAYS = 90;
/** Days for which a row without content still shows its result. */
const WITHOUT_FIELDS_DAYS = 30;

const statuses = ['delivered', 'dismissed', 'undelivered'] as const;

type SubmissionRetentionOptions = {
  storage: Storage;
  clock: Clock;
  log: Log;
  /** Days for which delivered and dismissed submissions keep their content. */
  days: number;
  /** Returns a condition: a message still needs the content of the row. It is true for a day at most. */
  isAwaited?: (row: ExpressionBuilder<Schema, 'submissions'>) => Expression<SqlBool>;
};

/** Numbers of submissions that lost their content, and that were deleted. */
type RetentionCounts = { emptied: number; deleted: number };

/** Returns the job that deletes due content and due rows, in batches. `work` throws `StorageUnavailable`. */
export function openSubmissionRetention(options: SubmissionRetentionOptions): Job<RetentionCounts> {
  const { storage, clock, log, days, isAwaited } = options;
  const { dialect } = storage;

  /**
   * Returns a condition: the row has had its status for longer than `ms`. The clock is in a subquery, because otherwise
   * PostgreSQL does not use the index.
   */
  function sinceBefore(db: Selects, row: ExpressionBuilder<Schema, 'submissions'>, ms: number) {
    return row('status_since_ms', '<', db.selectNoFrom(row(dialect.wallClock, '-', ms).as('before')));
  }

  /** Finds a batch of due rows. Repeats the index's conditions in constants, so that the planner uses the index. */
  function due(db: Selects, status: (typeof statuses)[number], ms: number, email: 'is' | 'is not') {
    return (
      db
        .selectFrom('submissions')
        .select('id')
        .where((row) =>
          row.and([
            row('status', '=', dialect.constant(status)),
            row('status', '<>', dialect.constant('sending')),
            row('stored_here', '=', row.lit(0)),
            row('email', email, row.lit(null)),
            sinceBefore(db, row, ms),
          ]),
        )
        .orderBy('status_since_ms')
        .limit(BATCH_ROWS)
        // Another instance may work on the same rows.
        .$call(dialect.skipLocked)
    );
  }

  async function work(signal: AbortSignal): Promise<RetentionCounts> {
    async function inBatches(batch: () => Promise<bigint>): Promise<number> {
      for (let total = 0; ; ) {
        const changed = signal.aborted ? 0 : Number(await batch());
        total += changed;
        if (changed < BATCH_ROWS) return total;
      }
    }
    const counts = { emptied: 0, deleted: 0 };
    for (const status of statuses) {
      const contentMs = (status === 'undelivered' ? UNDELIVERED_DAYS : days) * DAY_MS;
      counts.emptied += await inBatches(() =>
        storage.write(async (tx) => {
          const changed = await tx
            .with('due', (db) => {
              const rows = due(db, status, contentMs, 'is not');
              if (isAwaited === undefined) return rows;
              return rows.where((row) => row.or([row.not(isAwaited(row)), sinceBefore(db, row, DAY_MS)]));
            })
            .updateTable('submissions')
            // A requested resend is no longer possible.
            .set({ ...redactedColumns(storage), resend_asked_ms: null })
            .where('id', 'in', (rows) => rows.selectFrom('due').select('id'))
            .executeTakeFirst();
          return changed.numUpdatedRows;
        }),
      );
      counts.deleted += await inBatches(() =>
        storage.write(async (tx) => {
          const deleted = await tx
            .with('due', (db) => due(db, status, contentMs + WITHOUT_FIELDS_DAYS * DAY_MS, 'is'))
            .deleteFrom('submissions')
            .where('id', 'in', (rows) => rows.selectFrom('due').select('id'))
            .executeTakeFirst();
          return deleted.numDeletedRows;
        }),
      );
    }
    return counts;
  }

  return openJob({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    everyMs: EVERY_MS,
    work,
    done({ emptied, deleted }) {
      if (emptied + deleted > 0) {
        log.info({ emptied, deleted }, 'submissions past retention removed');
      }
    },
    failed: (error) => log.error({ err: error }, 'submissions past retention not removed'),
  });
}
