/**
 * Makes transactions on the file take time. Other requests run between two statements of a transaction, as they do
 * whenever a transaction awaits something.
 */
import type { SqliteConnection } from '../src/storage/sqlite/connection.ts';
import type { Medium } from './medium.ts';
import type { SimulatedProcess } from './process.ts';

const LONGEST_MS = 5;

/** Returns the connection. The connection waits after each statement of a transaction except the last. */
export function slowly(connection: SqliteConnection, medium: Medium, process: SimulatedProcess): SqliteConnection {
  const { chances, random } = medium;
  if (!chances.slowTransactions) return connection;
  const run = connection.executeQuery.bind(connection);
  let open = false;
  connection.executeQuery = async <R>(query: Parameters<typeof run>[0]) => {
    const result = await run<R>(query);
    if (query.sql === 'begin immediate') open = true;
    else if (query.sql === 'commit') open = false;
    // Transactions end quickly once the faults have stopped.
    if (open && medium.faults) {
      await new Promise<void>((resolve) => void process.after(random.between(0, LONGEST_MS), resolve));
    }
    return result;
  };
  const rollback = connection.rollback.bind(connection);
  connection.rollback = () => {
    open = false;
    rollback();
  };
  return connection;
}
