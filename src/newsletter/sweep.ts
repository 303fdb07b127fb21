/**
 * What nobody confirmed in seven days goes (beyond §6): the row, its messages and its submissions, within ten seconds
 * of a start and then every hour. Its links were dead before. Whichever instance is there does it.
 */
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Metrics } from '../operations/metrics.ts';
import { openUpkeep } from '../operations/upkeep.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';

const EVERY_MS = 3_600_000;
/** After the first moments of a start, which belong to requests. */
const FIRST_AFTER_MS = 5_000;
/** One commit's worth: whoever waits for it waits a few milliseconds. */
const BATCH_ROWS = 100;

export type NewsletterSweep = {
  /** Erases whatever has run out, in batches; returns how many subscribers. Throws `StorageUnavailable`. */
  work(): Promise<number>;
  start(): void;
  /** Waits for the batch under way. */
  close(): Promise<void>;
};

type SweepParts = {
  storage: Storage;
  clock: Clock;
  log: Log;
  metrics: Pick<Metrics, 'countSubscriber'>;
};

/** Does nothing before `work` or `start`. */
export function openNewsletterSweep({ storage, clock, log, metrics }: SweepParts): NewsletterSweep {
  async function work(): Promise<number> {
    for (let total = 0; ; ) {
      const now = clock.now().toISOString();
      const due = upkeep.isClosing() ? [] : await storage.read((db) => dueBy(db, now));
      if (due.length === 0) return total;
      const ids = due.map(({ id }) => id);
      const count = await storage.write((tx) => eraseDue(tx, ids, now));
      metrics.countSubscriber('expired', count);
      total += count;
    }
  }

  const upkeep = openUpkeep({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    everyMs: EVERY_MS,
    work: async () => {
      const count = await work();
      if (count > 0) log.info({ count }, 'subscriptions that nobody confirmed were erased');
    },
    failed: (error) => log.error({ err: error }, 'old subscriptions could not be erased'),
  });

  return { work, start: upkeep.start, close: upkeep.close };
}

const dueBy = (db: Pick<OpenTransaction, 'selectFrom'>, now: string) =>
  db
    .selectFrom('subscribers')
    .select('id')
    .where('expires_at', 'is not', null)
    .where('expires_at', '<=', now)
    .orderBy('expires_at')
    .limit(BATCH_ROWS);

/** One that was renewed meanwhile stays. First the row: what is pressed or settled from now on finds none. */
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
  await tx
    .deleteFrom('messages')
    .where('kind', '=', 'confirmation')
    .where('address', 'in', addresses)
    .execute();
  return gone.length;
}
