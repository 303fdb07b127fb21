/**
 * Reads that can take long: lists, searches and statistics of the console (reference §23.3). SQLite runs a query in the
 * calling thread, so these queries run in another thread, with a read-only connection.
 *
 * 1. Life. The first read starts the thread. The thread ends `IDLE_MS` after the last read, or with the service.
 * 2. Snapshot. Each query sees everything that was committed before it. No transaction stays open between two queries.
 * 3. Failure. An error ends the thread. Every read that waits fails, as if the store were unavailable. The next read
 *    starts a new thread.
 */
import type { Clock } from '../platform/clock.ts';
import { type ReadOnly, type Storage, StorageUnavailable } from './database.ts';
import { openThread, type SqliteThread } from './sqlite/thread.ts';

const IDLE_MS = 600_000;

export type Reader = ReadOnly & { close(): Promise<void> };

/** Returns a reader, which has no thread before its first read. Its queries must not use the clocks of the database. */
export function openThreadReader(
  { kind, dialect, compile }: Storage,
  { path, clock }: { path: string; clock: Pick<Clock, 'after'> },
): Reader {
  let thread: SqliteThread | undefined;
  let isClosed = false;
  let cancelIdle = () => {};

  function start(): SqliteThread {
    const started = openThread(path, true, () => {
      if (thread === started) thread = undefined;
    });
    return started;
  }

  async function end(): Promise<void> {
    cancelIdle();
    const ended = thread;
    thread = undefined;
    await ended?.end();
  }

  return {
    kind,
    dialect,
    compile,
    read: async <R>(query: Parameters<ReadOnly['read']>[0]) => {
      if (isClosed) throw new StorageUnavailable('The store is closed.');
      const { sql, parameters } = 'read' in query ? query.read : compile(query);
      thread ??= start();
      cancelIdle();
      cancelIdle = clock.after(IDLE_MS, () => void end());
      try {
        return (await thread.run(sql, parameters)).rows as R[];
      } catch (cause) {
        throw new StorageUnavailable('A read of SQLite failed.', { cause });
      }
    },
    close: async () => {
      isClosed = true;
      await end();
    },
  };
}
