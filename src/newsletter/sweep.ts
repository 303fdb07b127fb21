/**
 * Erases subscriptions that nobody confirmed in seven days, with their messages and submissions (reference §9.7). The
 * sweep runs within ten seconds of a start and then every hour, in each instance. The links of these subscriptions have
 * expired before.
 */
import type { Clock } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';

const EVERY_MS = 3_600_000;
/** Delay of the first run, so that it does not slow down the requests right after a start. */
const FIRST_AFTER_MS = 5_000;
/** Number of subscriptions in one commit. Other writes wait for it for a few milliseconds. */
const BATCH_ROWS = 100;

type SweepParts = {
  storage: Storage;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, 'countSubscriber'>;
};

/** Returns the job. `work` returns the number of erased subscribers and throws `StorageUnavailable`. */
export function openNewsletterSweep({ storage, clock, log, metrics }: SweepParts): Job<number> {
  return openJob({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    everyMs: EVERY_MS,
    async work(signal) {
      for (let total = 0; ; ) {
        const now = clock.now().toISOString();
        const due = signal.aborted ? [] : await storage.read((db) => dueBy(db, now));
        if (due.length === 0) return total;
        const ids = due.map(({ id }) => id);
        const count = await storage.write((tx) => eraseDue(tx, ids, now));
        metrics.countSubscriber('expired', count);
        total += count;
      }
    },
    done(count) {
      if (count > 0) log.info({ count }, 'unconfirmed subscriptions erased');
    },
    failed: (error) => log.error({ err: error }, 'unconfirmed subscriptions not erased'),
  });
}

const dueBy = (db: Pick<OpenTransaction, 'selectFrom'>, now: string) =>
  db
    .selectFrom('subscribers')
    .select('id')
    .where('expires_at', 'is not', null)
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(BATCH_ROWS);

/**
 * Erases the subscriptions in `due` that are still expired. The rows are deleted first, so that later requests do not
 * find them.
 */
async function eraseDue(tx: OpenTransaction, due: readonly string[], now: string): Promise<number> {
  const gone = await tx
    .deleteFrom('subscribers')
    .where('id', 'in', due)
    .where('expires_at', '<=', now)
    .returning(['id', 'email'])
    .execute();
  if (gone.length === 0) return 0;
  const ids = gone.map(({ id }) => id);
  const addresses = gone.map(({ email }) => email);
  await tx.deleteFrom('submissions').where('subscriber_id', 'in', ids).execute();
  await tx.deleteFrom('messages').where('kind', '=', 'confirmation').where('address', 'in', addresses).execute();
  return gone.length;
}
