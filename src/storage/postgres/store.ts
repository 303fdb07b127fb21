/**
 * The store on PostgreSQL, through Kysely and `pg`: a pool, time limits for everything, durable commits. The store
 * works behind a pooler in transaction mode, because it needs no session except for the time limits. Transactions have
 * the default isolation, read committed. Every change is a conditional statement or locks its rows first, so there are
 * no serialization failures to retry.
 */
import { type Kysely, sql, type Transaction } from 'kysely';
import pg from 'pg';
import type { Log } from '../../platform/log.ts';
import { patternOf, type Storage, StorageUnavailable } from '../database.ts';
import { FIRST_MIGRATION, migrate } from '../migrate.ts';
import { readAndWrite } from '../queries.ts';
import type { Reader } from '../reader.ts';
import type { Schema } from '../schema.ts';
import { APPLICATION_NAME, CONNECT_TIMEOUT_MS, connect, driverAddress, QUERY_TIMEOUT_MS } from './connection.ts';
import { vacuum } from './vacuum.ts';

const CONNECTIONS = 10;

const MIGRATION_LOCK = 7_204_611_083;

/**
 * Opens the store at a `postgres://` address and brings its schema up to date.
 * @throws StorageUnavailable if the server can't be reached, the schema is newer, or commits are not durable
 */
export async function openPostgres(url: string, log?: Log): Promise<Storage> {
  const connectionString = driverAddress(url);
  const address = { connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  const migrating = connect({ ...address, max: 1 }, log);
  try {
    await refuseSettings(migrating);
    await migrate(migrating, 'postgres', { lock: lockMigrations });
  } finally {
    await migrating.destroy();
  }

  const limited = { ...address, query_timeout: QUERY_TIMEOUT_MS };
  const db = connect({ ...limited, max: CONNECTIONS, keepAlive: true, application_name: APPLICATION_NAME }, log);
  return {
    kind: 'postgres',
    dialect: {
      leaseClock: sql<number>`(extract(epoch from clock_timestamp()) * 1000)`,
      leaseExpired: sql<boolean>`(lease_started_ms + lease_ms <= extract(epoch from clock_timestamp()) * 1000)`,
      forUpdate: (query) => query.forUpdate(),
      skipLocked: (query) => query.forUpdate().skipLocked(),
      advisoryLock: (tx, key) => sql`select pg_advisory_xact_lock(hashtextextended(${key}, 0))`.execute(tx),
      wallClock: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::double precision`,
      constant: (value) => sql.lit(value),
      partialOn: (column, text) => sql<boolean>`${sql.ref(column)} = ${sql.lit(text)}`,
      // `strpos` is faster. The planner estimates by `like`. It would expect that `strpos` matches a third of all rows.
      contains: (column, texts) =>
        sql`(strpos(${sql.ref(column)}, ${texts.at(-1)}) > 0 and ${sql.ref(column)} like ${patternOf(texts)})`,
      withoutFields: sql<string>`jsonb_set(event::jsonb, '{data,fields}', '{}')::text`,
      nestsChanges: true,
      listedHasText: false,
      firstChanged: sql<boolean>`exists (select from first)`,
    },
    ...readAndWrite(db),
    scrub: () => vacuum(limited),
    scrubLockMs: () => 0,
    // The server checks its own disk.
    requireDiskSpace: () => {},
    check: async () => {
      const { rows } = await sql<{ transaction_read_only: string }>`show transaction_read_only`.execute(db);
      if (rows[0]?.transaction_read_only === 'on') throw new StorageUnavailable('PostgreSQL is read-only.');
    },
    close: () => db.destroy(),
  };
}

/**
 * Opens the reader of the console. Its only connection runs one query at a time, so that at most one core of the server
 * searches, and no lead waits for a connection. A query waits for the connection as long as it may run.
 */
export function openPostgresReader(url: string, { kind, dialect }: Storage, log?: Log): Reader {
  const limits = { connectionTimeoutMillis: QUERY_TIMEOUT_MS, query_timeout: QUERY_TIMEOUT_MS };
  const db = connect(
    { connectionString: driverAddress(url), ...limits, max: 1, keepAlive: true, application_name: APPLICATION_NAME },
    log,
  );
  const { compile, read } = readAndWrite(db);
  return { kind, dialect, compile, read, close: () => db.destroy() };
}

/**
 * Locks until the migrations are committed, so that other instances wait. Lifts the time limits for this transaction
 * only, because a pooler gives the session to other clients. Returns the schema in which the tables are, or will be.
 */
async function lockMigrations(transaction: Transaction<Schema>): Promise<string | undefined> {
  await sql`set local statement_timeout = 0`.execute(transaction);
  await sql`set local lock_timeout = 0`.execute(transaction);
  await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction);
  const ours = await ownSchema((statement) => sql.raw<object>(statement).execute(transaction));
  if (ours !== undefined) return ours;
  // The migrator continues after an error, and PostgreSQL then reports only its last statement.
  const { rows } = await sql<{ schema: string | null; may: boolean | null }>`
    select current_schema() as schema, has_schema_privilege(current_schema(), 'create') as may`.execute(transaction);
  const { schema = null, may = null } = rows[0] ?? {};
  if (schema === null) {
    throw new StorageUnavailable(
      'No schema of the search_path exists for this role. Create one with: create schema NAME authorization ROLE.',
    );
  }
  if (may === true) return schema;
  const remedy =
    schema === 'public' ? 'alter database NAME owner to ROLE' : 'grant usage, create on schema NAME to ROLE';
  throw new StorageUnavailable(`This role may not create tables. Let an administrator run: ${remedy}.`);
}

/**
 * Refuses a server that can lose a commit, because a submission could be sent twice after the loss of its claim. Also
 * refuses an encoding that lacks characters. Reads defaults of new sessions, because a pooler may drop our settings.
 */
async function refuseSettings(db: Kysely<Schema>): Promise<void> {
  const { rows } = await sql<{ name: string; reset_val: string }>`
    select name, reset_val from pg_settings
    where name in ('fsync', 'synchronous_commit', 'server_encoding') order by name`.execute(db);
  for (const { name, reset_val } of rows) {
    if (name !== 'server_encoding' && reset_val === 'off') {
      throw new StorageUnavailable(`PostgreSQL runs with ${name}=off, which can lose confirmed data. Turn it on.`);
    }
    if (name === 'server_encoding' && reset_val !== 'UTF8') {
      throw new StorageUnavailable(
        `The encoding of the database is ${reset_val}, which can’t store all characters. Create a database with ENCODING 'UTF8' TEMPLATE template0.`,
      );
    }
  }
}

/**
 * Returns the first schema of the search path with migrations of this program, or undefined. Another program may have a
 * table of the same name.
 */
export async function ownSchema(run: (statement: string) => Promise<{ rows: object[] }>): Promise<string | undefined> {
  const { rows } = await run(`
    select nspname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relname = 'kysely_migration' and nspname = any (current_schemas(false))
    order by array_position(current_schemas(false), nspname)`);
  for (const { name } of rows as { name: string }[]) {
    const ours = `select from ${pg.escapeIdentifier(name)}.kysely_migration where name = '${FIRST_MIGRATION}'`;
    if ((await run(ours)).rows.length > 0) return name;
  }
  return undefined;
}
