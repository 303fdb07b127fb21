/**
 * Runs one transaction in a thread with its own connection, so that a change of many rows leaves the event loop free
 * (reference §19.4). The commit also moves the write-ahead log into the file, within the thread.
 */
import type { DatabaseConnection, Driver, QueryResult } from 'kysely';
import { type OpenTransaction, StorageUnavailable } from '../database.ts';
import { runChange, transact } from '../queries.ts';
import { isStatementError, kyselyOver } from './connection.ts';
import { openThread, type SqliteThread } from './thread.ts';

/** Returns the result of `run`. An error ends the thread, which rolls the transaction back. */
export async function transactInThread<T>(path: string, run: (tx: OpenTransaction) => Promise<T>): Promise<T> {
  const thread = openThread(path, false);
  try {
    for (const pragma of ['synchronous=full', 'foreign_keys=on', 'secure_delete=on'])
      await thread.run(`pragma ${pragma}`);
    return await transact(kyselyOver(driverOver(thread)), run, runChange);
  } finally {
    await thread.end();
  }
}

function driverOver(thread: SqliteThread): Driver {
  const execute = async (sql: string, parameters: readonly unknown[] = []) => {
    try {
      return await thread.run(sql, parameters);
    } catch (error) {
      if (isStatementError(error)) throw error;
      throw new StorageUnavailable('SQLite could not run a statement.', { cause: error });
    }
  };
  const connection: DatabaseConnection = {
    executeQuery: async <R>({ sql, parameters }: { sql: string; parameters: readonly unknown[] }) => {
      const { rows, changes } = await execute(sql, parameters);
      return { rows: rows as R[], numAffectedRows: BigInt(changes) };
    },
    // biome-ignore lint/correctness/useYield: Kysely requires the method, but no query streams.
    async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
      throw new Error('Streaming is not used.');
    },
  };
  return {
    init: async () => {},
    acquireConnection: async () => connection,
    beginTransaction: async () => void (await execute('begin immediate')),
    commitTransaction: async () => void (await execute('commit')),
    // The end of the thread rolls back.
    rollbackTransaction: async () => {},
    releaseConnection: async () => {},
    destroy: async () => {},
  };
}
