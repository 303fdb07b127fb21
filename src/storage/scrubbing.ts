/**
 * Removes the remains of deleted rows from the database's files, after an erasure (reference §19.8).
 *
 * 1. Request. The transaction of an erasure also commits a request, so that a crash loses no request.
 * 2. Time. SQLite rewrites the whole file, which blocks all writers. If a rewrite is expected to take longer than
 *    `LOCK_MAXIMUM_MS`, the rewrite waits for the next night in the operator's time zone.
 * 3. Retry. A request stays until its rewrite has succeeded. Any instance works on a due request.
 */
import { type Clock, processTimeZone } from '../platform/clock.ts';
import { type Job, openJob } from '../platform/jobs.ts';
import type { Log } from '../platform/log.ts';
import type { OpenTransaction, Scrubbed, Storage } from './database.ts';

/** Maximum time for which other writers wait by day, in milliseconds. */
const LOCK_MAXIMUM_MS = 500;

/** Time of day at which few people send a form. */
const NIGHT = '03:00';

const FIRST_AFTER_MS = 10_000;
const EVERY_MS = 60_000;
const RETRY_AFTER_MS = 3_600_000;

/** Results after which the service tries again. */
const RETRIED: readonly Scrubbed[] = ['held', 'failed', 'seen'];

/** Returns when the files may be scrubbed: at `from`, or in the next night in `timeZone` or the process's time zone. */
export function scrubDueAt(storage: Pick<Storage, 'scrubLockMs'>, from: Date, timeZone: string | undefined): Date {
  if (storage.scrubLockMs() <= LOCK_MAXIMUM_MS) return from;
  const zone = timeZone ?? processTimeZone() ?? 'UTC';
  const local = Temporal.Instant.fromEpochMilliseconds(from.getTime()).toZonedDateTimeISO(zone);
  const tonight = local.withPlainTime(NIGHT);
  const isOver = Temporal.ZonedDateTime.compare(tonight, local) < 0;
  const night = isOver ? local.add({ days: 1 }).withPlainTime(NIGHT) : tonight;
  return new Date(night.epochMilliseconds);
}

/** Requests a scrub in the transaction of an erasure. */
export async function requestScrub(tx: OpenTransaction, { id, dueAt }: { id: string; dueAt: Date }): Promise<void> {
  await tx.insertInto('scrub_requests').values({ id, due_ms: dueAt.getTime() }).execute();
}

/** Returns when the last requested scrub is due, or undefined if no scrub is requested. */
export async function lastScrubDueAt(storage: Storage): Promise<Date | undefined> {
  const [row] = await storage.read((db) =>
    db.selectFrom('scrub_requests').select('due_ms').orderBy('due_ms', 'desc').limit(1),
  );
  return row && new Date(row.due_ms);
}

/**
 * Scrubs the files if a request is due, and removes fulfilled requests. If some remains stay, the requests are due
 * again an hour later, or in the first night after that hour. Returns undefined if no request is due.
 * @throws StorageUnavailable
 */
export async function scrubRequested(
  storage: Storage,
  at: Date,
  timeZone: string | undefined,
): Promise<Scrubbed | undefined> {
  const rows = await storage.read((db) =>
    db.selectFrom('scrub_requests').select('id').where('due_ms', '<=', at.getTime()),
  );
  if (rows.length === 0) return undefined;
  const ids = rows.map(({ id }) => id);
  const scrubbed = await storage.scrub();
  await storage.write(async (tx) => {
    if (RETRIED.includes(scrubbed)) {
      const later = scrubDueAt(storage, new Date(at.getTime() + RETRY_AFTER_MS), timeZone);
      await tx.updateTable('scrub_requests').set({ due_ms: later.getTime() }).where('id', 'in', ids).execute();
    } else {
      await tx.deleteFrom('scrub_requests').where('id', 'in', ids).execute();
    }
  });
  return scrubbed;
}

export type Scrubbing = Pick<Job, 'soon' | 'start' | 'close'>;

/** Returns the job that works on due requests. `close` waits for a rewrite, because SQLite can't interrupt it. */
export function openScrubbing(parts: {
  storage: Storage;
  clock: Clock;
  log: Log;
  timeZone: string | undefined;
}): Scrubbing {
  const { storage, clock, log, timeZone } = parts;
  return openJob({
    clock,
    firstAfterMs: FIRST_AFTER_MS,
    everyMs: EVERY_MS,
    work: () => scrubRequested(storage, clock.now(), timeZone),
    done(scrubbed) {
      if (scrubbed !== undefined) log.info({ scrubbed }, 'deleted rows scrubbed');
    },
    failed: (error) => log.error({ err: error }, 'scrub of deleted rows failed'),
  });
}
