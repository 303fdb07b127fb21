/** Signs out the operators who were removed from `OPERATORS` (reference §12.16). The console itself is not loaded. */
import type { ExpressionBuilder } from 'kysely';
import type { Storage } from '../storage/database.ts';
import { type Schema, signInTables } from '../storage/schema.ts';

/**
 * Deletes all sessions and links of operators who signed in by mail and are no longer in `operators`. Nearly every start
 * finds none. Such a start writes nothing, so it does not wait for a writer of another process.
 * @throws StorageUnavailable
 */
export async function signOutRemovedOperators(storage: Storage, operators: readonly string[]): Promise<void> {
  const isRemoved = (row: ExpressionBuilder<Schema, (typeof signInTables)[number]>) => {
    const mailed = row('mailed', '=', 1);
    // PostgreSQL accepts no empty list.
    return operators.length === 0 ? mailed : mailed.and('name', 'not in', operators);
  };
  // The links are deleted first, so that none of them makes a session after the sessions are deleted.
  for (const table of signInTables) {
    const found = await storage.read((db) => db.selectFrom(table).select('digest').where(isRemoved).limit(1));
    if (found.length === 0) continue;
    await storage.write(async (tx) => {
      await tx.deleteFrom(table).where(isRemoved).execute();
    });
  }
}
