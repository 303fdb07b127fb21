/** Stores a submission before it is sent (reference §10.6). */
import type { Clock } from '../platform/clock.ts';
import { type OpenTransaction, StorageUnavailable } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import type { LeadStore, LeasedAttempt } from './lead-store.ts';
import type { NewSubmission } from './submission.ts';

/** Time limit for the store. After this time, the service answers without the store. */
export const STORE_WAIT_MS = 2_000;
export const RETRY_MS = 100;
/** Delay of a timer that shows that this process was paused. */
const PAUSED_MS = 500;
/** Time in which a repeated form with equal fields counts as the same submission, on the database's wall clock. */
const SAME_WITHIN_MS = 86_400_000;

/** Writes a subscriber in the submission's commit. Returns the submission with subscriber data (reference §9.2). */
export type Join = (tx: OpenTransaction) => Promise<NewSubmission>;

type Persisted =
  | { kind: 'stored'; leased: LeasedAttempt }
  /** An equal submission is stored already, and has not arrived. */
  | { kind: 'equal'; row: SubmissionRow }
  /** The store is unavailable. `insert` is the last try, which may still commit. */
  | { kind: 'notPersisted'; insert: Promise<unknown> | undefined };

/** Stores a submission with the lease of its first attempt. Tries for two seconds. */
export async function persist(leads: LeadStore, submission: NewSubmission, join?: Join): Promise<Persisted> {
  const { storage, clock, queries, pending } = leads;
  const limit = openTimeLimit(clock);
  let stored = submission;
  let insert: Promise<number> | undefined;
  let leasedAt: number | undefined;
  const joined = async (tx: OpenTransaction) => {
    stored = join === undefined ? submission : await join(tx);
    const inserted = await tx.change(queries.insert(stored));
    if (inserted === 0) {
      // An earlier try has committed another body, so the service sends the committed body.
      const row = tx.selectFrom('submissions').select('event').where('id', '=', stored.id);
      stored = { ...stored, event: (await row.executeTakeFirstOrThrow()).event };
    }
    return inserted;
  };
  try {
    for (let isRetry = false; ; isRetry = true) {
      try {
        if (isRetry) await limit.race(clock.sleep(RETRY_MS));
        if (pending.hasPendingWrites()) await limit.race(pending.flush());
        const row = await limit.race(findEqual(leads, submission));
        if (row !== undefined) return { kind: 'equal', row };
        storage.requireDiskSpace();
        // The first try may have committed, so the lease of the first try counts.
        leasedAt ??= clock.monotonic();
        insert = storage.write(join === undefined ? queries.insert(submission) : joined);
        const inserted = await limit.race(insert);
        if (inserted === 0) {
          // An earlier try has committed, and another process may have continued with its row.
          const [own] = await limit.race(storage.read(queries.byId({ id: submission.id })));
          const isOurs = own?.status === 'sending' && own.attempt_number === 1;
          if (own !== undefined && !isOurs) return { kind: 'equal', row: own };
        }
        return { kind: 'stored', leased: firstAttempt(stored, leasedAt) };
      } catch (error) {
        if (!(error instanceof StorageUnavailable)) throw error;
        if (limit.isOver()) return { kind: 'notPersisted', insert };
      }
    }
  } finally {
    limit.end();
  }
}

/** Returns the first attempt of a submission. */
export function firstAttempt(submission: NewSubmission, leasedAt: number): LeasedAttempt {
  return { ...submission, attempt_number: 1, attempt_by: 'first', resumed_status: null, step: null, leasedAt };
}

/** Waits for the store. Returns undefined if the store is unavailable or takes longer than two seconds. */
export async function within<T>(clock: Clock, promise: Promise<T>): Promise<T | undefined> {
  const limit = openTimeLimit(clock);
  try {
    return await limit.race(promise);
  } catch (error) {
    if (error instanceof StorageUnavailable) return undefined;
    throw error;
  } finally {
    limit.end();
  }
}

/** Starts a time limit of two seconds, after which `race` throws. The limit starts again if this process was paused. */
function openTimeLimit(clock: Clock) {
  let isOver = false;
  const ended = Promise.withResolvers<never>();
  // Without a current race, nothing else handles the rejection.
  ended.promise.catch(() => {});
  let end = () => {};
  const start = () => {
    const lateAt = clock.monotonic() + STORE_WAIT_MS + PAUSED_MS;
    end = clock.after(STORE_WAIT_MS, () => {
      if (clock.monotonic() >= lateAt) return start();
      isOver = true;
      ended.reject(new StorageUnavailable('The store did not answer in time.'));
    });
  };
  start();
  return {
    race: <T>(promise: Promise<T>) => Promise.race([promise, ended.promise]),
    isOver: () => isOver,
    end: () => end(),
  };
}

/** Returns the oldest equal submission of the last day that has not arrived. */
async function findEqual(
  { storage, queries }: LeadStore,
  { fields_digest }: NewSubmission,
): Promise<SubmissionRow | undefined> {
  const rows = await storage.read(queries.findEqual({ fields_digest: fields_digest ?? '' }));
  const recent = rows.filter(({ age_ms }) => Number(age_ms) < SAME_WITHIN_MS);
  return recent.sort((one, other) => one.received_ms - other.received_ms)[0];
}
