/**
 * Uses `node:sqlite` with plain statements, in a file with the service's own tables, indexes and pragmas. The writes of
 * one turn of the event loop share one commit. With `eachAlone`, each write has its own commit.
 */
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';

export type Database = Awaited<ReturnType<typeof openDatabase>>;

/** Opens the database file, and creates it if it does not exist. A write resolves once it is durable. */
export async function openDatabase({ eachAlone = false } = {}) {
  const path = `${process.env.DATA_DIR}/service.db`;
  await (await openSqlite(path, systemClock)).close();
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode=wal; pragma synchronous=full; pragma secure_delete=on');
  let waiting: { run: () => boolean; resolve: (changed: boolean) => void }[] = [];
  const commit = () => {
    const batch = waiting;
    waiting = [];
    database.exec('begin immediate');
    const changed = batch.map(({ run }) => run());
    database.exec('commit');
    batch.forEach(({ resolve }, index) => void resolve(changed[index] === true));
  };
  const write = (run: () => boolean) =>
    new Promise<boolean>((resolve) => {
      waiting.push({ run, resolve });
      if (eachAlone) commit();
      else if (waiting.length === 1) setImmediate(commit);
    });
  const prepare = (statement: string) => database.prepare(statement);
  return { prepare, write };
}
