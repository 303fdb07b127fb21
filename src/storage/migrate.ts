/** Brings a database's schema up to date. Refuses an unknown schema. */
import { type Kysely, sql, type Transaction } from 'kysely';
import type { Migration } from 'kysely/migration';
import { type Storage, StorageUnavailable } from './database.ts';
import type { Schema } from './schema.ts';

type Load = () => Promise<{ up(db: Kysely<unknown>, kind: Storage['kind']): Promise<void> }>;
type Migrations = Readonly<Record<string, Load>>;

/** Migrations in the order in which they run. A released migration never changes. */
export const migrations: Migrations = {
  '0001-schema': () => import('./migrations/0001-schema.ts'),
};

/** Every database of this program has this migration. */
export const [FIRST_MIGRATION = ''] = Object.keys(migrations);

const NEWER = 'The database was written by a newer version of this program, so start that version.';
const FOREIGN =
  'The database was made by a version before 1.0, or by another program, so use a new database for this version.';

/** Returns true if one of the applied migrations is not in the list. */
export function isUnknown(applied: readonly string[], list = migrations): boolean {
  return applied.some((name) => !Object.hasOwn(list, name));
}

/** Throws `StorageUnavailable` if one of the applied migrations is not in the list. */
export function refuseUnknown(applied: readonly string[], list = migrations): void {
  if (!isUnknown(applied, list)) return;
  throw new StorageUnavailable(applied.includes(FIRST_MIGRATION) ? NEWER : FOREIGN);
}

/** Throws `StorageUnavailable` with a difference like `the trigger x is unknown`. */
export function refuseSchema(difference: string): never {
  throw new StorageUnavailable(
    `The schema of the database differs from that of this version: ${difference} (docs/operations.md, "Backup and restore").`,
  );
}

type MigrateOptions = {
  /** Locks the migrations until the transaction ends. Returns the tables' schema, if the database supports schemas. */
  lock?(transaction: Transaction<Schema>): Promise<string | undefined>;
  /** Migrations to apply (default: all). */
  list?: Migrations;
};

/**
 * Applies the missing migrations.
 * @throws StorageUnavailable if the database has a migration that is not in the list, and the error of a migration
 */
export async function migrate(
  db: Kysely<Schema>,
  kind: Storage['kind'],
  { lock, list = migrations }: MigrateOptions = {},
): Promise<void> {
  await db.transaction().execute(async (transaction) => {
    const schema = await lock?.(transaction);
    const applied = await appliedIn(transaction, kind, schema);
    refuseUnknown(applied, list);
    if (applied.length === Object.keys(list).length) return;
    const { Migrator } = await import('kysely/migration');
    const loaded: Record<string, Migration> = {};
    for (const [name, load] of Object.entries(list)) {
      const { up } = await load();
      loaded[name] = { up: (within) => up(within, kind) };
    }
    const provider = { getMigrations: async () => loaded };
    const options = { db: transaction, provider, ...(schema && { migrationTableSchema: schema }) };
    const { error } = await new Migrator(options).migrateToLatest();
    if (error !== undefined) throw error;
  });
}

async function appliedIn(db: Kysely<Schema>, kind: Storage['kind'], schema: string | undefined): Promise<string[]> {
  const table =
    kind === 'sqlite'
      ? sql`select 1 from sqlite_schema where name = 'kysely_migration'`
      : sql`select 1 from pg_tables where tablename = 'kysely_migration'
          and schemaname = ${schema ?? sql`current_schema()`}`;
  if ((await table.execute(db)).rows.length === 0) return [];
  const named = schema === undefined ? sql.id('kysely_migration') : sql.id(schema, 'kysely_migration');
  const { rows } = await sql<{ name: string }>`select name from ${named}`.execute(db);
  return rows.map(({ name }) => name);
}
