/**
 * `node:sqlite`, WAL, `synchronous=FULL`: the writes that come in one turn of the event loop share one commit,
 * or none does.
 */
import { DatabaseSync } from 'node:sqlite';

/** Opens the file, which is made where there is none; a write resolves once it is durable. */
export function openDatabase(path: string, eachAlone = false) {
  const database = new DatabaseSync(path);
  database.exec('pragma journal_mode=wal; pragma synchronous=full');
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
  return { database, write };
}
