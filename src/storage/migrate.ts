/** Brings a database's schema up to date; safe to repeat. A newer schema is refused. */
import type { Kysely, Transaction } from 'kysely';
import type { Migration } from 'kysely/migration';
import { type Storage, StorageUnavailable } from './database.ts';
import type { Schema } from './schema.ts';

/**
 * In the order they are applied; a migration that was released is never changed. Each is loaded by a
 * database that may need it.
 */
const migrations = {
  '0001-executions-inbox-outbox': () => import('./migrations/0001-executions-inbox-outbox.ts'),
  '0002-indexes-by-age-and-email': () => import('./migrations/0002-indexes-by-age-and-email.ts'),
  '0003-outbox-attempt-clock': () => import('./migrations/0003-outbox-attempt-clock.ts'),
  '0004-executions-found-by-preview': () =>
    import('./migrations/0004-executions-found-by-preview.ts'),
  '0005-submissions': () => import('./migrations/0005-submissions.ts'),
  '0006-messages': () => import('./migrations/0006-messages.ts'),
  '0007-executions-confirmed-via': () => import('./migrations/0007-executions-confirmed-via.ts'),
  '0008-receipts': () => import('./migrations/0008-receipts.ts'),
  '0009-confirmations': () => import('./migrations/0009-confirmations.ts'),
  '0010-subscribers': () => import('./migrations/0010-subscribers.ts'),
  '0011-operator-console': () => import('./migrations/0011-operator-console.ts'),
  '0012-submissions-in-pages': () => import('./migrations/0012-submissions-in-pages.ts'),
  '0013-events-of-a-subscriber': () => import('./migrations/0013-events-of-a-subscriber.ts'),
  '0014-addresses-with-filters': () => import('./migrations/0014-addresses-with-filters.ts'),
  '0015-mailbox-keys': () => import('./migrations/0015-mailbox-keys.ts'),
};

/** Every database of this program has had it. */
export const [FIRST_MIGRATION = ''] = Object.keys(migrations);

const NEWER = 'The database was written by a newer version of this program; start that version.';

/** Takes the names of the migrations that a database has had; returns whether it is newer than we are. */
export function isNewer(applied: readonly string[]): boolean {
  return applied.some((name) => !Object.hasOwn(migrations, name));
}

/** Takes the same; throws where it is newer. */
export function refuseNewer(applied: readonly string[]): void {
  if (isNewer(applied)) throw new StorageUnavailable(NEWER);
}

/** Takes the same; returns whether the database has had all of ours. Throws where it is newer. */
export function areMissing(applied: readonly string[]): boolean {
  refuseNewer(applied);
  return applied.length < Object.keys(migrations).length;
}

/**
 * Takes the database, its kind, and what keeps other instances waiting to the end of the transaction and says in
 * which schema the tables are, where there can be several. Throws where a migration fails, or `StorageUnavailable`
 * where the database is newer than this program.
 */
export async function migrate(
  db: Kysely<Schema>,
  kind: Storage['kind'],
  lock: (transaction: Transaction<Schema>) => Promise<string | undefined> = async () => undefined,
): Promise<void> {
  const { Migrator } = await import('kysely/migration');
  const loaded: Record<string, Migration> = {};
  for (const [name, load] of Object.entries(migrations)) {
    const { up } = await load();
    loaded[name] = { up: (within) => up(within, kind) };
  }
  await db.transaction().execute(async (transaction) => {
    const schema = await lock(transaction);
    const provider = { getMigrations: async () => loaded };
    const options = { db: transaction, provider, ...(schema && { migrationTableSchema: schema }) };
    const { error } = await new Migrator(options).migrateToLatest();
    if (error instanceof Error && /corrupted migrations/.test(error.message)) {
      throw new StorageUnavailable(NEWER);
    }
    if (error !== undefined) throw error;
  });
}
