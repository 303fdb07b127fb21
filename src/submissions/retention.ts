/**
 * How long a submission is kept (beyond §1, "Retention"), counted from the moment it got its status: first what
 * the person typed goes, then the row. What the embedded inbox holds is the operator's: it is left alone.
 * What is under way or waits stays, and whichever instance is there does it.
 */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import { openUpkeep } from '../operations/upkeep.ts';
import type { Selects, Storage } from '../storage/database.ts';
import { prepareChange } from '../storage/prepare-query.ts';
import type { Schema } from '../storage/schema.ts';
import { withoutContent } from './content.ts';
import { copyLegacyInbox } from './legacy-inbox.ts';

const DAY_MS = 86_400_000;
const EVERY_MS = 3_600_000;
/** Within ten seconds of the start, but after its first ones, which belong to requests. */
const FIRST_AFTER_MS = 5_000;
/** One commit's worth: whoever waits for it waits a few milliseconds. */
const BATCH_ROWS = 200;

/** An operator has so long to see to what nothing more happens to, whatever is set. */
const UNDELIVERED_DAYS = 90;
/** For so long a row still says that there was something, and what became of it. */
const WITHOUT_FIELDS_DAYS = 30;

const ended = ['delivered', 'dismissed', 'undelivered'] as const;
type Ended = (typeof ended)[number];

export type SubmissionRetentionOptions = {
  storage: Storage;
  clock: Clock;
  log: Log;
  /** For how long `delivered` and `dismissed` ones keep their content. */
  days: number;
  /** Whether something still needs the content of a row of `submissions`: for a day at most. */
  isAwaited?: IsAwaited;
};

type IsAwaited = (row: ExpressionBuilder<Schema, 'submissions'>) => Expression<SqlBool>;

/** How many were copied from what the version before writes, lost their content, and were deleted. */
type Looked = { copied: number; emptied: number; deleted: number };

export type SubmissionRetention = {
  /** Does whatever is due, in batches. Throws `StorageUnavailable`. */
  work(): Promise<Looked>;
  /** Works 5 s from now and then every hour, until `close`. */
  start(): void;
  /** Waits for the batch under way. */
  close(): Promise<void>;
};

/** Does nothing before `work` or `start`. */
export function openSubmissionRetention(options: SubmissionRetentionOptions): SubmissionRetention {
  const { storage, clock, log, days } = options;
  const { empty, remove } = prepareEnds(storage, options.isAwaited);
  async function inBatches(batch: () => Promise<number>): Promise<number> {
    for (let total = 0; ; ) {
      const changed = upkeep.isClosing() ? 0 : await batch();
      total += changed;
      if (changed < BATCH_ROWS) return total;
    }
  }

  async function work(): Promise<Looked> {
    const looked = { copied: await inBatches(await copyLegacyInbox(storage, BATCH_ROWS)) };
    let [emptied, deleted] = [0, 0];
    for (const status of ended) {
      const keptMs = (status === 'undelivered' ? UNDELIVERED_DAYS : days) * DAY_MS;
      const rowMs = keptMs + WITHOUT_FIELDS_DAYS * DAY_MS;
      emptied += await inBatches(() => storage.write(empty[status]({ ms: keptMs })));
      deleted += await inBatches(() => storage.write(remove[status]({ ms: rowMs })));
    }
    return { ...looked, emptied, deleted };
  }

  const upkeep = openUpkeep({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    everyMs: EVERY_MS,
    work: async () => {
      const { copied, emptied, deleted } = await work();
      if (copied > 0) log.info({ count: copied }, 'submissions of an older instance were copied');
      if (emptied + deleted > 0) {
        log.info({ emptied, deleted }, 'submissions past their retention were removed');
      }
    },
    failed: (error) => log.error({ err: error }, 'old submissions could not be removed'),
  });

  return { work, start: upkeep.start, close: upkeep.close };
}

/** What ends the content of rows of a status, and what ends the rows themselves: of one batch each. */
function prepareEnds(storage: Storage, isAwaited: IsAwaited | undefined) {
  const each = <T>(make: (status: Ended) => T) =>
    Object.fromEntries(ended.map((status) => [status, make(status)])) as Record<Ended, T>;
  return {
    empty: each((status) =>
      prepareChange(storage, (db, of: { ms: number }) =>
        db
          .with('due', (within) => {
            const rows = due(storage, within, status, of.ms, 'is not');
            if (isAwaited === undefined) return rows;
            return rows.where((row) =>
              row.or([row.not(isAwaited(row)), sinceBefore(storage, within, row, DAY_MS)]),
            );
          })
          .updateTable('submissions')
          // What was asked for can't be sent any more.
          .set({ ...withoutContent(storage), resend_asked_ms: null })
          .where('id', 'in', (rows) => rows.selectFrom('due').select('id')),
      ),
    ),
    remove: each((status) =>
      prepareChange(storage, (db, of: { ms: number }) =>
        db
          .with('due', (within) => due(storage, within, status, of.ms, 'is'))
          .deleteFrom('submissions')
          .where('id', 'in', (rows) => rows.selectFrom('due').select('id')),
      ),
    ),
  };
}

/** Spelt as its index is, in constants: so a planner knows that the index holds them all. */
function due(
  { dialect }: Pick<Storage, 'dialect'>,
  db: Selects,
  status: Ended,
  ms: number,
  email: 'is' | 'is not',
) {
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
          sinceBefore({ dialect }, db, row, ms),
        ]),
      )
      .orderBy('status_since_ms')
      .limit(BATCH_ROWS)
      // Another instance may be at it.
      .$call(dialect.skipLocked)
  );
}

/** In a query of its own: PostgreSQL walks no index up to a clock that may move meanwhile. */
function sinceBefore(
  { dialect }: Pick<Storage, 'dialect'>,
  db: Selects,
  row: ExpressionBuilder<Schema, 'submissions'>,
  ms: number,
) {
  const before = db.selectNoFrom(row(dialect.wallClock, '-', ms).as('before'));
  return row('status_since_ms', '<', before);
}
