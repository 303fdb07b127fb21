/**
 * PostgreSQL through Kysely on `pg`: a pool, time-outs on everything, commits that are durable.
 * Works behind a pooler in transaction mode: nothing relies on a session but its time-outs.
 */
import {
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  type PostgresPool,
  type PostgresPoolClient,
  sql,
  type Transaction,
} from 'kysely';
import pg from 'pg';
import type { Log } from '../../operations/log.ts';
import { type Storage, StorageUnavailable } from '../database.ts';
import { migrate } from '../migrate.ts';
import { readAndWrite } from '../pooled.ts';
import type { Schema } from '../schema.ts';
import { APPLICATION_NAME, driverAddress } from './address.ts';
import { isFarewell, isSqlState, judge } from './errors.ts';
import { ownSchema } from './own-schema.ts';
import { vacuum } from './vacuum.ts';

const CONNECTIONS = 10;
const CONNECT_TIMEOUT_MS = 2_000;
/** What the server may take for a statement, and for a lock in it. */
const STATEMENT_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 2_000;
/** What we wait when the server says nothing at all: then the connection is given up. */
const QUERY_TIMEOUT_MS = 6_000;

/** A plan compiled to machine code pays off for a report that takes seconds; of ours it was a third of the longest. */
const SESSION = `set statement_timeout = ${STATEMENT_TIMEOUT_MS}; set lock_timeout = ${LOCK_TIMEOUT_MS}; set idle_in_transaction_session_timeout = ${QUERY_TIMEOUT_MS}; set synchronous_commit = on; set default_transaction_isolation = 'read committed'; set jit = off`;

const MIGRATION_LOCK = 7_204_611_083;

/**
 * Takes a `postgres://` address; returns the opened store, its schema up to date. Throws
 * `StorageUnavailable` where the server can't be reached, is newer, or does not keep what it confirms.
 */
export async function openPostgres(url: string, log?: Log): Promise<Storage> {
  const connectionString = driverAddress(url);
  const address = { connectionString, connectionTimeoutMillis: CONNECT_TIMEOUT_MS };
  const migrating = connect(new pg.Pool({ ...address, max: 1 }), SESSION, log);
  try {
    await refuseForgetful(migrating);
    await refuseEncoding(migrating);
    await migrate(migrating, 'postgres', lockMigrations);
  } finally {
    await migrating.destroy();
  }

  const pool = new pg.Pool({
    ...address,
    max: CONNECTIONS,
    query_timeout: QUERY_TIMEOUT_MS,
    keepAlive: true,
    application_name: APPLICATION_NAME,
  });
  const db = connect(pool, SESSION, log);
  return {
    kind: 'postgres',
    dialect: {
      leaseClock: sql<number>`(extract(epoch from clock_timestamp()) * 1000)`,
      leaseHasRunOut: sql<boolean>`(lease_started_ms + lease_ms <= extract(epoch from clock_timestamp()) * 1000)`,
      forUpdate: (query) => query.forUpdate(),
      skipLocked: (query) => query.forUpdate().skipLocked(),
      heldUntilCommit: (key) => sql`pg_advisory_xact_lock(hashtextextended(${key}, 0))`,
      wallClock: sql<number>`(extract(epoch from clock_timestamp()) * 1000)::double precision`,
      constant: (value) => sql.lit(value),
      partialOn: (column, text) => sql<boolean>`${sql.ref(column)} = ${sql.lit(text)}`,
      // By its bytes: the order of the database's collation knows no beginnings.
      beginsWith: (column, text) =>
        sql<boolean>`(${sql.ref(column)} ~>=~ ${text} and ${sql.ref(column)} ~<~ ${`${text}\u{10FFFF}`})`,
      // By the collation that knows ASCII alone.
      mentions: (text) =>
        sql<boolean>`strpos(lower(split_part(event, '"fields":', 2) collate "C"), ${text.toLowerCase()}) > 0`,
      withoutFields: sql<string>`jsonb_set(event::jsonb, '{data,fields}', '{}')::text`,
      nestsChanges: true,
      firstChanged: sql<boolean>`exists (select from first)`,
    },
    ...readAndWrite(db),
    scrub: () => vacuum({ ...address, query_timeout: QUERY_TIMEOUT_MS }, SESSION),
    // The server minds its own disk.
    requireRoom: () => {},
    check: async () => {
      const asked = sql<{ transaction_read_only: string }>`show transaction_read_only`;
      const [row] = (await asked.execute(db)).rows;
      if (row?.transaction_read_only !== 'on') return;
      throw new StorageUnavailable('PostgreSQL is read-only.');
    },
    close: () => db.destroy(),
  };
}

/** Connections that said they broke, with a statement under way or without. */
const broken = new WeakSet<pg.PoolClient>();

function connect(pool: pg.Pool, session: string, log: Log | undefined): Kysely<Schema> {
  // A connection that breaks while nobody uses it; the pool opens another.
  pool.on('error', () => log?.warn('an idle database connection was lost'));
  // From its first moment: the server's farewell can come in one piece with its welcome, before
  // whoever asked for the connection has it. An error that nobody listens for ends the process.
  pool.on('connect', (client) => {
    client.on('error', () => broken.add(client));
  });
  const dialect = new PostgresDialect({ pool: explained(pool, session) });
  dialect.createAdapter = () => new Adapter();
  return new Kysely<Schema>({ dialect });
}

/** Kysely's lock belongs to a session, which a pooler in transaction mode does not give. */
class Adapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

/**
 * Held to the end of the migrations' transaction, so that nobody starts before it is committed. They may take as
 * long as they need, and other instances wait for them: for this transaction alone, for behind a pooler the session
 * is somebody else's in the next. Returns the schema that new tables come into, not another one's that is seen as well.
 */
async function lockMigrations(transaction: Transaction<Schema>): Promise<string | undefined> {
  await sql`set local statement_timeout = 0`.execute(transaction);
  await sql`set local lock_timeout = 0`.execute(transaction);
  await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(transaction);
  const ours = await ownSchema((statement) => sql.raw<object>(statement).execute(transaction));
  if (ours !== undefined) return ours;
  const asked = sql<{ schema: string | null }>`select current_schema() as schema`;
  return (await asked.execute(transaction)).rows[0]?.schema ?? undefined;
}

/**
 * A confirmed claim that is forgotten may be sent twice. By the default of new sessions: what ours is
 * set to, a pooler may not keep.
 */
async function refuseForgetful(db: Kysely<Schema>): Promise<void> {
  const off = sql<{ name: string }>`
    select name from pg_settings where name in ('fsync', 'synchronous_commit') and reset_val = 'off'`;
  for (const { name } of (await off.execute(db)).rows) {
    throw new StorageUnavailable(
      `PostgreSQL runs with ${name}=off, which loses what it has confirmed; turn it on.`,
    );
  }
}

/** What people type may hold any character: one that the database has no place for would refuse the lead. */
async function refuseEncoding(db: Kysely<Schema>): Promise<void> {
  const asked = sql<{ server_encoding: string }>`show server_encoding`;
  const encoding = (await asked.execute(db)).rows[0]?.server_encoding;
  if (encoding === 'UTF8') return;
  throw new StorageUnavailable(
    `The database’s encoding is ${encoding}, which can’t hold what people write; make one with ENCODING 'UTF8' TEMPLATE template0.`,
  );
}

/** The pool, whose errors say whether the store is away or the mistake is ours. */
function explained(pool: pg.Pool, session: string): PostgresPool {
  return {
    options: pool.options,
    connect: () =>
      attempt(async () => {
        const client = await pool.connect();
        const known = clients.get(client);
        if (known !== undefined) return known;
        try {
          await client.query(session);
        } catch (error) {
          // Not given back, it would be missing from the pool for ever.
          client.release(true);
          throw error;
        }
        return clientOf(client);
      }),
    end: () => pool.end(),
  } as PostgresPool;
}

const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();

/** The same object for the same connection: Kysely knows by it which ones it has prepared. */
function clientOf(client: pg.PoolClient): PostgresPoolClient {
  const explainedClient: unknown = {
    query: (text: string, parameters: unknown[]) =>
      attempt(async () => {
        try {
          return await client.query(text, parameters);
        } catch (error) {
          // Without an SQLSTATE nobody knows what became of the statement: the connection goes. So it
          // does where the server has said farewell, but has not hung up yet.
          if (!isSqlState(error) || isFarewell(error)) broken.add(client);
          throw error;
        }
      }),
    release: (destroy?: boolean | Error) => client.release(destroy || broken.has(client)),
  };
  clients.set(client, explainedClient as PostgresPoolClient);
  return explainedClient as PostgresPoolClient;
}

async function attempt<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw judge(error);
  }
}
