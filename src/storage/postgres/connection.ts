/** Connections to PostgreSQL. After an error with an unknown effect, the connection is closed. */
import { Kysely, PostgresAdapter, PostgresDialect, type PostgresPool, type PostgresPoolClient } from 'kysely';
import pg from 'pg';
import type { Log } from '../../platform/log.ts';
import { StorageUnavailable } from '../database.ts';
import type { Schema } from '../schema.ts';

export const CONNECT_TIMEOUT_MS = 2_000;
/** The server's limits for a statement, and for the wait for a lock. */
const STATEMENT_TIMEOUT_MS = 5_000;
const LOCK_TIMEOUT_MS = 2_000;
/** Our own limit for an answer of the server. If the answer is later, the connection is closed. */
export const QUERY_TIMEOUT_MS = 6_000;

/**
 * JIT compilation pays off only for reports of several seconds. It took a third of the time of our longest query.
 * Parallel workers would take the cores that leads need meanwhile.
 */
export const SESSION = `set statement_timeout = ${STATEMENT_TIMEOUT_MS}; set lock_timeout = ${LOCK_TIMEOUT_MS}; set idle_in_transaction_session_timeout = ${QUERY_TIMEOUT_MS}; set synchronous_commit = on; set default_transaction_isolation = 'read committed'; set jit = off; set max_parallel_workers_per_gather = 0`;

/** Name of the service's connections in `pg_stat_activity`. A restore searches for this name. */
export const APPLICATION_NAME = 'lead-intake';

/** Finds a name in the address, which the driver would use instead of `APPLICATION_NAME`. */
const OTHER_NAME = /(?<=[?&])application_name=[^&]*&?/g;

/** The driver treats these modes as the stricter `verify-full` and prints an eight-line warning. */
const TREATED_AS_VERIFY_FULL = /([?&]sslmode=)(?:prefer|require|verify-ca)(?=&|$)/;

/** Returns an address that means the same as `DATABASE_URL` to the driver, but causes no warning. */
export function driverAddress(url: string): string {
  const named = url.replaceAll(OTHER_NAME, '').replace(/[?&]$/, '');
  // With this option the driver treats the modes as libpq does.
  if (/[?&]uselibpqcompat=true(?:&|$)/.test(named)) return named;
  return named.replace(TREATED_AS_VERIFY_FULL, '$1verify-full');
}

/** Returns data, constraint and syntax errors as they are, and any other error as `StorageUnavailable`. */
export function toStorageError(error: unknown): unknown {
  const code = (error as { code?: string }).code ?? '';
  // 42501 is a missing privilege, which the operator must grant.
  if (error instanceof pg.DatabaseError && code !== '42501' && /^(0A|22|23|42)/.test(code)) return error;
  return new StorageUnavailable('PostgreSQL could not run a statement.', { cause: error });
}

/** Codes with which the server ends the session: lost connections, shutdowns, and an idle transaction. */
const ENDS_SESSION = /^(08|57P|25P03)/;

/** Connections that have failed, with or without a statement under way. */
const broken = new WeakSet<pg.PoolClient>();

/** Opens a pool of connections for Kysely. */
export function connect(config: pg.PoolConfig, log: Log | undefined): Kysely<Schema> {
  const pool = new pg.Pool({ ...config, onConnect: (client) => client.query(SESSION) });
  // The pool replaces an idle connection that breaks.
  pool.on('error', () => log?.warn('idle database connection lost'));
  // The server can end a session in the same packet that starts it, before the pool returns the connection. An error
  // without a listener ends the process.
  pool.on('connect', (client) => {
    client.on('error', () => broken.add(client));
  });
  const dialect = new PostgresDialect({
    pool: {
      options: pool.options,
      connect: () => withStorageErrors(async () => clientOf(await pool.connect())),
      end: () => pool.end(),
    } as PostgresPool,
  });
  dialect.createAdapter = () => new Adapter();
  return new Kysely<Schema>({ dialect });
}

/** Omits Kysely's migration lock, which needs a session. A pooler in transaction mode does not offer sessions. */
class Adapter extends PostgresAdapter {
  override async acquireMigrationLock(): Promise<void> {}
  override async releaseMigrationLock(): Promise<void> {}
}

const clients = new WeakMap<pg.PoolClient, PostgresPoolClient>();

/** Returns the same object for the same connection, because Kysely identifies prepared connections by their object. */
function clientOf(client: pg.PoolClient): PostgresPoolClient {
  const existing = clients.get(client);
  if (existing !== undefined) return existing;
  const wrapped = {
    query: (text: string, parameters: unknown[]) =>
      withStorageErrors(async () => {
        try {
          return await client.query(text, parameters);
        } catch (error) {
          // Without an SQLSTATE the effect of the statement is unknown.
          if (!(error instanceof pg.DatabaseError) || ENDS_SESSION.test(error.code ?? '')) broken.add(client);
          throw error;
        }
      }),
    release: (destroy?: boolean | Error) => client.release(destroy || broken.has(client)),
  } as unknown as PostgresPoolClient;
  clients.set(client, wrapped);
  return wrapped;
}

async function withStorageErrors<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    throw toStorageError(error);
  }
}
