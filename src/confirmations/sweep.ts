/**
 * What time does to confirmations (beyond §4): every five seconds those that nobody pressed in time are ended,
 * every hour what nothing needs any more is deleted. Whichever instance is there does it.
 */
import type { Executions } from '../actions/executions.ts';
import type { Mailboxes } from '../actions/mailbox.ts';
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Metrics } from '../operations/metrics.ts';
import { openUpkeep } from '../operations/upkeep.ts';
import type { Storage } from '../storage/database.ts';
import { prepareChange } from '../storage/prepare-query.ts';

const EVERY_MS = 5_000;
const DELETE_EVERY_MS = 3_600_000;
const DAY_MS = 86_400_000;

export type Sweep = {
  /** Both, once. Throws `StorageUnavailable`. */
  work(): Promise<void>;
  start(): void;
  close(): Promise<void>;
};

type SweepParts = {
  storage: Storage;
  clock: Clock;
  log: Log;
  executions: Pick<Executions, 'asked'>;
  mailboxes: Pick<Mailboxes, 'prepare'>;
  metrics: Pick<Metrics, 'countConfirmation'>;
  /** How long a receipt is kept, and with it who has reported whom. */
  days: number;
};

/** Does nothing before `work` or `start`. */
export function openSweep(parts: SweepParts): Sweep {
  const { storage, clock, log, executions, mailboxes, metrics, days } = parts;
  const deletion = prepareDeletions(storage);
  let deletedAt = Number.NEGATIVE_INFINITY;

  async function remove(): Promise<void> {
    const before = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();
    await storage.write(deletion.confirmations({ before: before(days * DAY_MS) }));
    await storage.write(deletion.reports({ before: before(days * DAY_MS) }));
    await storage.write(deletion.codes({ before: before(DAY_MS) }));
  }

  async function work(): Promise<void> {
    const count = await executions.asked.expire();
    metrics.countConfirmation('expired', count);
    if (clock.monotonic() - deletedAt >= DELETE_EVERY_MS) {
      await remove();
      deletedAt = clock.monotonic();
    }
    // Before an old signing key goes, a new one must have what it wraps.
    await mailboxes.prepare();
  }

  const { start, close } = openUpkeep({
    clock,
    firstAfterMs: EVERY_MS,
    everyMs: EVERY_MS,
    work,
    failed: (error) => log.error({ err: error }, 'old confirmations could not be ended'),
  });
  return { work, start, close };
}

function prepareDeletions(storage: Storage) {
  return {
    /** With their receipts, which go by the lease clock as well. */
    confirmations: prepareChange(storage, (db, of: { before: string }) =>
      db
        .deleteFrom('confirmations')
        .where('created_at', '<', of.before)
        .where((row) =>
          row.not(
            row.exists(
              row
                .selectFrom('executions')
                .select('executions.action_id')
                .whereRef('executions.action_id', '=', 'confirmations.id'),
            ),
          ),
        ),
    ),
    reports: prepareChange(storage, (db, of: { before: string }) =>
      db.deleteFrom('confirmation_reports').where('reported_at', '<', of.before),
    ),
    codes: prepareChange(storage, (db, of: { before: string }) =>
      db.deleteFrom('confirmation_codes').where('asked_at', '<=', of.before),
    ),
  };
}
