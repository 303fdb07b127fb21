/**
 * Group commit: writes that arrive together share one durable commit (reference §19.1, "A commit whose outcome is
 * unknown"). After an error inside a batch, each member runs again alone. An error of the commit fails every member,
 * because its outcome is unknown. An error of BEGIN, which waits for a lock, fails every write that waits.
 */
import type { Clock } from '../../platform/clock.ts';
import type { OpenTransaction } from '../database.ts';

type Write<T> = (tx: OpenTransaction) => Promise<T>;

type Transact = <T>(run: Write<T>) => Promise<T>;

type Member = {
  run: Write<unknown>;
  /** Runs this write in a transaction of its own. Later writes wait for its end. */
  alone: Transact | undefined;
  resolve: (value: unknown) => void;
  reject: (error: unknown) => void;
};

/** Maximum number of writes in a batch. It limits the time that other requests wait for a batch to about 10 ms. */
const BATCH_MAXIMUM = 128;

/** Turns of the event loop in which writes join a batch. Turns take microseconds, a saved commit saves an fsync. */
const GATHERING_TURNS = 3;

/** Returns a function that runs a write in a shared transaction, or in a transaction of its own with `alone`. */
export function groupCommit(transact: Transact, clock: Clock): <T>(run: Write<T>, alone?: Transact) => Promise<T> {
  let waiting: Member[] = [];
  let working = false;

  async function work(): Promise<void> {
    while (waiting.length > 0) {
      for (let turn = 0; turn < GATHERING_TURNS; turn += 1) await clock.turn();
      const batch = waiting.slice(0, batchSize());
      waiting = waiting.slice(batch.length);
      const failure = await commit(batch);
      if (failure === undefined) continue;
      // Writes that came meanwhile would wait for the lock again.
      for (const { reject } of waiting) reject(failure.error);
      waiting = [];
    }
    working = false;
  }

  function batchSize(): number {
    const first = waiting.findIndex(({ alone }) => alone !== undefined);
    return first === 0 ? 1 : Math.min(BATCH_MAXIMUM, first === -1 ? waiting.length : first);
  }

  /** Resolves once every member has its result. Returns the error if the transaction did not begin. */
  async function commit(batch: readonly Member[]): Promise<{ error: unknown } | undefined> {
    let hasBegun = false;
    let finished = 0;
    try {
      const values = await (batch[0]?.alone ?? transact)(async (tx) => {
        hasBegun = true;
        const results: unknown[] = [];
        for (const { run } of batch) {
          results.push(await run(tx));
          finished += 1;
        }
        return results;
      });
      batch.forEach(({ resolve }, index) => void resolve(values[index]));
    } catch (error) {
      const insideBatch = hasBegun && finished < batch.length;
      if (insideBatch && batch.length > 1) for (const member of batch) await commit([member]);
      else for (const { reject } of batch) reject(error);
      if (!hasBegun) return { error };
    }
    return undefined;
  }

  return <T>(run: Write<T>, alone?: Transact) =>
    new Promise<T>((resolve, reject) => {
      waiting.push({ run, alone, resolve: resolve as Member['resolve'], reject });
      if (working) return;
      working = true;
      work();
    });
}
