/** The commit that keeps a submission before its first byte leaves, and how long it is waited for (beyond §1). */
import type { Clock } from '../clock.ts';
import { type OpenTransaction, StorageUnavailable } from '../storage/database.ts';
import type { SubmissionRow } from '../storage/schema.ts';
import type { Taken } from './settling.ts';
import type { Kept } from './submission-queries.ts';
import type { Submissions } from './submissions.ts';

/** How long the store is tried, or waited for, before a person is answered without it. */
export const WITHIN_MS = 2_000;
/** How long after a try that failed the next one comes. */
export const TRY_AGAIN_MS = 100;
/** So late a timer says that this process was paused. */
const PAUSED_MS = 500;
/** How long who sends the same again means the same: by the database's wall clock. */
const AGAIN_WITHIN_MS = 86_400_000;
/** `commit`: the last that was begun; none begins once it is called off. */
export type Keeping = { calledOff: boolean; commit?: Promise<unknown> };
type Begun = { kind: 'kept'; taken: Taken } | { kind: 'equal'; row: SubmissionRow };
/** What is written in the same commit, and is needed to know what is kept: a subscriber (beyond §6). */
export type Completing = (tx: OpenTransaction) => Promise<Kept>;

/** Keeps it, unless the same was sent before and waits; tries for two seconds. Throws `StorageUnavailable`. */
export async function keep(
  submissions: Submissions,
  kept: Kept,
  call: Keeping,
  complete?: Completing,
): Promise<Begun> {
  const { storage, clock } = submissions.options;
  const { queries } = submissions;
  const startedAt = clock.monotonic();
  let takenAt: number | undefined;
  for (;;) {
    try {
      // What is resolved waits for this to end: it must not wait for that.
      if (call.calledOff) throw new StorageUnavailable('It was forwarded unkept.');
      if (submissions.isBehind()) await submissions.resolve();
      const row = await findEqual(submissions, kept);
      if (row !== undefined) return { kind: 'equal', row };
      storage.requireRoom();
      // A first try may have been committed: its lease holds.
      takenAt ??= clock.monotonic();
      let whole = kept;
      if (!call.calledOff) {
        const keeping =
          complete === undefined
            ? storage.write(queries.keep(kept))
            : storage.write(async (tx) => {
                whole = await complete(tx);
                const inserted = await tx.change(queries.keep(whole));
                if (inserted === 0) whole = await asKept(tx, whole);
                return inserted;
              });
        call.commit = keeping;
        if ((await keeping) === 0) {
          // An earlier try was committed, unknown to this process; others may have gone on with its row since.
          const [row] = await storage.read(queries.look({ id: kept.id }));
          const isOurs = row?.status === 'sending' && row.attempt_number === 1;
          if (row !== undefined && !isOurs) return { kind: 'equal', row };
        }
      }
      return { kind: 'kept', taken: firstOf(whole, takenAt) };
    } catch (error) {
      const isOver = call.calledOff || clock.monotonic() - startedAt >= WITHIN_MS;
      if (isOver || !(error instanceof StorageUnavailable)) throw error;
      await clock.sleep(TRY_AGAIN_MS);
    }
  }
}

/** What an earlier try has committed, unknown to this process: that body is the one that is sent. */
async function asKept(tx: OpenTransaction, kept: Kept): Promise<Kept> {
  const { event } = await tx
    .selectFrom('submissions')
    .select('event')
    .where('id', '=', kept.id)
    .executeTakeFirstOrThrow();
  return { ...kept, event };
}

/** The oldest that equals it, was received within a day, and has not arrived. */
async function findEqual(
  { options: { storage }, queries }: Submissions,
  { fields_digest }: Kept,
): Promise<SubmissionRow | undefined> {
  const rows = await storage.read(queries.findEqual({ fields_digest: fields_digest ?? '' }));
  if (rows.length === 0) return undefined;
  const recent = rows.filter(({ age_ms }) => Number(age_ms) < AGAIN_WITHIN_MS);
  return recent.sort((one, other) => one.received_ms - other.received_ms)[0];
}

/** The first attempt of what was kept, under way since that moment of the monotonic clock. */
export function firstOf(kept: Kept, takenAt: number): Taken {
  return {
    ...kept,
    attempt_number: 1,
    attempt_by: 'first',
    resumed_status: null,
    step: null,
    takenAt,
  };
}

/**
 * What a promise gives in time; undefined where it takes longer, or the store is away. A pause of this process is
 * not the store's: its time then begins anew.
 */
export function within<T>(clock: Clock, promise: Promise<T>): Promise<T | undefined> {
  return new Promise((resolve, reject) => {
    let callOff = () => {};
    const wait = () => {
      const lateAt = clock.monotonic() + WITHIN_MS + PAUSED_MS;
      callOff = clock.after(WITHIN_MS, () =>
        clock.monotonic() >= lateAt ? wait() : resolve(undefined),
      );
    };
    wait();
    promise.then(
      (value) => {
        callOff();
        resolve(value);
      },
      (error) => {
        callOff();
        if (error instanceof StorageUnavailable) resolve(undefined);
        else reject(error);
      },
    );
  });
}
