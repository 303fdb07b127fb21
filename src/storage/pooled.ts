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
      'change' in change
        ? changed(db, change)
        : db.transaction().execute((transaction) => {
            const tx = { change: <T>(one: Change<T>) => changed(transaction, one) };
            return change(Object.assign(transaction, tx));
          }),
  };
}

async function changed<T>(on: Kysely<Schema>, { change }: Change<T>): Promise<T> {
  return Number((await on.executeQuery(change)).numAffectedRows) as T;
}
