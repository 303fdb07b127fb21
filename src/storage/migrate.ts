/** Brings a database's schema up to date; safe to repeat. A newer schema is refused. */
import type { Kysely, Transaction } from 'kysely';
import { type Migration, Migrator } from 'kysely/migration';
import { StorageUnavailable } from './database.ts';
import { up as executionsInboxOutbox } from './migrations/0001-executions-inbox-outbox.ts';
import { up as indexesByAgeAndEmail } from './migrations/0002-indexes-by-age-and-email.ts';
import { up as outboxAttemptClock } from './migrations/0003-outbox-attempt-clock.ts';
import type { Schema } from './schema.ts';

/** In the order they are applied; a migration that was released is never changed. */
const migrations: Record<string, Migration> = {
  '0001-executions-inbox-outbox': { up: executionsInboxOutbox },
  '0002-indexes-by-age-and-email': { up: indexesByAgeAndEmail },
  '0003-outbox-attempt-clock': { up: outboxAttemptClock },
};

/** Takes the names of the migrations that a database has had; throws where it is newer than we are. */
export function refuseNewer(applied: readonly string[]): void {
  if (applied.some((name) => !Object.hasOwn(migrations, name))) {
    throw new StorageUnavailable(
      'The database was written by a newer version of this program; start that version.',
    );
  }
}

/**
 * Takes the database and what keeps other instances waiting to the end of the transaction. Throws
 * where a migration fails, or `StorageUnavailable` where the database is newer than this program.
 */
export async function migrate(
  db: Kysely<Schema>,
  lock: (transaction: Transaction<Schema>) => Promise<void> = async () => {},
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    await lock(transaction);
    const provider = { getMigrations: async () => migrations };
    const { error } = await new Migrator({ db: transaction, provider }).migrateToLatest();
    if (error instanceof Error && /corrupted migrations/.test(error.message)) {
      throw new StorageUnavailable(
        'The database was written by a newer version of this program; start that version.',
      );
    }
    if (error !== undefined) throw error;
  });
}
