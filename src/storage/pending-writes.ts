/**
 * A journal of outcomes that are not written yet. If the store fails in a statement, the commit may have happened. So
 * the process writes the outcome before it claims anything else.
 */
import { openInFlight } from '../platform/in-flight.ts';
import { StorageUnavailable } from './database.ts';

export type PendingWrites<Key> = {
  /** Runs a statement about `key`. If it fails, remembers `write` (default: the same statement) and throws. */
  track<T>(key: Key, run: () => Promise<T>, write?: () => Promise<unknown>): Promise<T>;
  /** Remembers a write without trying it first. */
  remember(key: Key, write: () => Promise<unknown>): void;
  /** Returns true while an outcome waits to be written. */
  hasPendingWrites(): boolean;
  /** Writes the outcomes that wait at the moment of the call. Throws `StorageUnavailable`. */
  flush(): Promise<void>;
  /** Waits for the statements under way, whether or not they succeed. */
  idle(): Promise<void>;
  /** Returns the keys that have a statement under way or an outcome that waits to be written. */
  keys(): Key[];
};

/** Returns an empty journal. A key is compared by identity. */
export function openPendingWrites<Key extends object>(): PendingWrites<Key> {
  const pending = new Map<Key, () => Promise<unknown>>();
  const underWay = openInFlight<{ key: Key; written: Promise<unknown> }>();
  let flushing: Promise<void> | undefined;

  async function follow<T>(key: Key, written: Promise<T>): Promise<T> {
    const ended = underWay.add({ key, written });
    try {
      return await written;
    } finally {
      ended();
    }
  }

  /** Writes the outcomes that wait now. Later outcomes wait for the next flush, so that this flush ends. */
  async function writePending(): Promise<void> {
    for (const [key, write] of [...pending]) {
      try {
        await follow(key, write());
        pending.delete(key);
      } catch (error) {
        // A store that only refuses this outcome is available for the other outcomes.
        if (error instanceof StorageUnavailable) throw error;
      }
    }
  }

  return {
    async track(key, run, write = run) {
      const attempt = async () => {
        try {
          return await run();
        } catch (error) {
          // Remembers the outcome before the statement counts as ended, because callers read `pending` after `idle`.
          pending.set(key, write);
          throw error;
        }
      };
      return await follow(key, attempt());
    },

    remember: (key, write) => void pending.set(key, write),

    hasPendingWrites: () => pending.size > 0,

    async flush() {
      // A flush under way does not include outcomes that arrived after its start.
      if (flushing !== undefined) await flushing;
      flushing ??= writePending().finally(() => {
        flushing = undefined;
      });
      await flushing;
    },

    async idle() {
      await Promise.allSettled(underWay.all().map(({ written }) => written));
    },

    keys: () => [...underWay.all().map(({ key }) => key), ...pending.keys()],
  };
}
