/**
 * Counts submissions of bots, which fill the honeypot (reference §4.3). A count stays in memory for up to five seconds,
 * so no answer depends on the database. The table has a row for each day and form.
 */

import type { FormName } from '../forms/catalog.ts';
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Storage } from '../storage/database.ts';
import type { HoneypotCountRow } from '../storage/operation-schema.ts';
import { prepareChange } from '../storage/queries.ts';

const DAY_MS = 86_400_000;
const WRITE_EVERY_MS = 5_000;
const DELETE_EVERY_MS = 3_600_000;

/** Time for which the counts of a day are stored, in days. */
const RETENTION_DAYS = 90;

/** The job writes the counts, and every hour deletes old days. `work` throws `StorageUnavailable`. */
export type Honeypots = Job & {
  /** Counts and logs a submission, without waiting for the database. */
  caught(form: FormName): void;
};

type HoneypotParts = {
  storage: Storage;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, 'countHoneypot'>;
};

/** Opens the counts. The job writes nothing before `work` or `start`. */
export function openHoneypots({ storage, clock, log, metrics }: HoneypotParts): Honeypots {
  const add = prepareChange(storage, (db, of: HoneypotCountRow) =>
    db
      .insertInto('honeypot_counts')
      .values(of)
      .onConflict((conflict) =>
        conflict.columns(['day', 'form']).doUpdateSet((row) => ({
          times: row('honeypot_counts.times', '+', row.ref('excluded.times')),
        })),
      ),
  );
  const deleteOld = prepareChange(storage, (db, of: { before: string }) =>
    db.deleteFrom('honeypot_counts').where('day', '<', of.before),
  );
  let counted = new Map<string, HoneypotCountRow>();
  let deletedAt = Number.NEGATIVE_INFINITY;

  function count({ day, form, times }: HoneypotCountRow): void {
    const key = `${day} ${form}`;
    counted.set(key, { day, form, times: times + (counted.get(key)?.times ?? 0) });
  }

  async function write(): Promise<void> {
    if (counted.size === 0) return;
    storage.requireDiskSpace();
    const rows = [...counted.values()];
    counted = new Map();
    try {
      await storage.write(async (tx) => {
        for (const row of rows) await tx.change(add(row));
      });
    } catch (error) {
      rows.forEach(count);
      throw error;
    }
  }

  async function work(): Promise<void> {
    await write();
    if (clock.monotonic() - deletedAt < DELETE_EVERY_MS) return;
    const before = dayOf(clock.now().getTime() - RETENTION_DAYS * DAY_MS);
    await storage.write(deleteOld({ before }));
    deletedAt = clock.monotonic();
  }

  const job = openJob({
    clock,
    everyMs: WRITE_EVERY_MS,
    work,
    failed: (error) => log.error({ err: error }, 'honeypot counts not stored'),
    runsAtClose: true,
  });
  return {
    ...job,
    caught(form) {
      metrics.countHoneypot(form);
      log.info({ form }, 'honeypot filled');
      count({ day: dayOf(clock.now().getTime()), form, times: 1 });
    },
  };
}

/** Returns the number of bots in the last `days` days. Throws `StorageUnavailable`. */
export async function countBots(
  storage: Pick<Storage, 'read'>,
  { now, days }: { now: Date; days: number },
): Promise<number> {
  const after = dayOf(now.getTime() - days * DAY_MS);
  const [sum] = await storage.read((db) =>
    db
      .selectFrom('honeypot_counts')
      .select((row) => row.fn.sum<number | string | null>('times').as('times'))
      .where('day', '>', after),
  );
  return Number(sum?.times ?? 0);
}

/** Returns the day in UTC. */
function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}
