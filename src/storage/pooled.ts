/** Reading and writing where each transaction has a connection of its own, from a pool. */
import { type Kysely, QueryCreator } from 'kysely';
import type { Change, Storage } from './database.ts';
import { compilerOver } from './prepare-query.ts';
import type { Schema } from './schema.ts';

/** Takes Kysely over the pool. */
export function readAndWrite(db: Kysely<Schema>): Pick<Storage, 'compile' | 'read' | 'write'> {
  const compile = compilerOver(db, QueryCreator);
  return {
    compile,
    read: async (query) =>
      (await db.executeQuery('read' in query ? query.read : compile(query))).rows,
    // The server shares commits between connections by itself.
    write: (change) =>
      'change' in change && change.second === undefined
        ? changed(db, change)
        : db.transaction().execute((transaction) => {
            const tx = { change: <T>(one: Change<T>) => changed(transaction, one) };
            return 'change' in change ? tx.change(change) : change(Object.assign(transaction, tx));
          }),
  };
}

/** Where one statement holds two, it says the number in a row. */
async function changed<T>(on: Kysely<Schema>, { change, second }: Change<T>): Promise<T> {
  const { rows, numAffectedRows } = await on.executeQuery(change);
  const count = Number(numAffectedRows ?? (rows[0] as { changed: number }).changed);
  if (count > 0 && second !== undefined) await on.executeQuery(second);
  return count as T;
}
