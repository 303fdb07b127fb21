/** Runs in the thread that `thread.ts` starts. An error ends the thread. */
import { DatabaseSync, type SQLInputValue } from 'node:sqlite';
import { parentPort, workerData } from 'node:worker_threads';

/** Time for which SQLite waits for a lock, in milliseconds. */
const LOCK_TIMEOUT_MS = 2_000;

const { path, readOnly } = workerData as { path: string; readOnly: boolean };
const database = new DatabaseSync(path, { readOnly, timeout: LOCK_TIMEOUT_MS });

parentPort?.on('message', ({ sql, parameters }: { sql: string; parameters: SQLInputValue[] }) => {
  const statement = database.prepare(sql);
  const returnsRows = statement.columns().length > 0;
  const rows = returnsRows ? statement.all(...parameters) : [];
  const changes = returnsRows ? 0 : Number(statement.run(...parameters).changes);
  parentPort?.postMessage({ rows, changes });
});
