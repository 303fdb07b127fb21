/**
 * Group commit: writes that come together share one durable commit (contract §4, "A commit whose
 * outcome is unknown"). An error inside a batch fails the whole batch, which is then repeated member
 * by member; an error of the commit itself is every member's, for nobody knows its outcome; one of its
 * beginning, which waits for a lock, is everybody's who waits.
 */
import type { Clock } from '../../clock.ts';
import type { OpenTransaction } from '../database.ts';

type Write<T> = (tx: OpenTransaction) => Promise<T>;

type Member = {
  run: Write<unknown>;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

/** How long one commit's batch may grow: bounds how long other requests wait for it, some 10 ms. */
const BATCH_MAXIMUM = 128;

/**
 * Whatever arrives in so many turns of the event loop joins a batch: where nothing does they cost
 * microseconds, and under load a commit saved is an fsync saved.
 */
const GATHERING_TURNS = 3;

/** Takes what runs a transaction; returns what runs a write in a transaction that it may share. */
export function groupCommit(
  transact: <T>(run: Write<T>) => Promise<T>,
  clock: Clock,
): <T>(run: Write<T>) => Promise<T> {
  let waiting: Member[] = [];
  let working = false;

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      for (let turn = 0; turn < GATHERING_TURNS; turn += 1) await clock.turn();
      const batch = waiting.slice(0, BATCH_MAXIMUM);
      waiting = waiting.slice(BATCH_MAXIMUM);
      const failure = await commit(batch);
      if (failure === undefined) continue;
      // A lock is waited for once: who came meanwhile would wait for it as long again.
      for (const { reject } of waiting) reject(failure.error);
      waiting = [];
    }
    working = false;
  }

  /** Resolves once every member has its result; to the failure, where the transaction did not begin. */
  async function commit(batch: readonly Member[]): Promise<{ error: unknown } | undefined> {
    let begun = false;
    let finished = 0;
    try {
      const values = await transact(async (tx) => {
        begun = true;
        const results: unknown[] = [];
        for (const { run } of batch) {
          results.push(await run(tx));
          finished += 1;
        }
        return results;
      });
      batch.forEach(({ resolve }, index) => void resolve(values[index]));
    } catch (error) {
      const insideBatch = begun && finished < batch.length;
      if (insideBatch && batch.length > 1) for (const member of batch) await commit([member]);
      else for (const { reject } of batch) reject(error);
      if (!begun) return { error };
    }
    return undefined;
  }

  return <T>(run: Write<T>) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ run, resolve: resolve as Member['resolve'], reject });
      if (working) return;
      working = true;
      work();
    });
}
