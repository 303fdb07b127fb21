import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createClient } from '@redis/client';
import pg from 'pg';
import type { Clock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import { openPostgres } from '../../src/storage/postgres/store.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';

/** URL of a PostgreSQL for tests. With `TEST_SERVICES=required`, as in CI, its absence is an error. */
const postgresUrl = process.env.TEST_DATABASE_URL ?? 'postgres://postgres@127.0.0.1:5432/postgres';
export const redisUrl = process.env.TEST_REDIS_URL ?? 'redis://127.0.0.1:6379';

export type TestDatabase = {
  /** `DATABASE_URL` of a database that only this test uses. */
  url: string;
  open(clock: Clock): Promise<Storage>;
  remove(): Promise<void>;
};

async function newSqlite(): Promise<TestDatabase> {
  const folder = mkdtempSync(join(tmpdir(), 'store-'));
  const path = join(folder, 'service.db');
  return {
    url: `sqlite:${path}`,
    open: (clock) => openSqlite(path, clock),
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** Databases of earlier tests of this worker, empty again: to create or drop one writes many megabytes to the disk. */
const empty: string[] = [];

async function newPostgres(): Promise<TestDatabase> {
  let name = empty.pop();
  if (name === undefined) {
    // Vitest forked this worker. `test-run.ts` drops the databases of its process at the end.
    name = `${namesOfRun(process.ppid)}${randomUUID().slice(0, 8)}`;
    await administer(`create database ${name}`);
  }
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return { url: url.href, open: () => openPostgres(url.href), remove: () => removePostgres(name, url.href) };
}

/** Beginning of the names of all databases of a run of Vitest, by the id of its process. */
const namesOfRun = (pid: number) => `service_test_${pid}_`;

/** Empties the database for the next test, or drops it where more than its tables was changed. */
async function removePostgres(name: string, url: string): Promise<void> {
  await administer(`select pg_terminate_backend(pid) from pg_stat_activity where datname = '${name}'`);
  const changes = await administer(
    `select 1 from pg_database where datname = '${name}'
      and (datacl is not null or pg_get_userbyid(datdba) <> current_user
        or exists (select from pg_db_role_setting where setdatabase = pg_database.oid))
      union all select 1 from pg_namespace where nspname !~ '^(pg_|information_schema$|public$)'
      union all select 1 from pg_extension where extname <> 'plpgsql'`,
    url,
  );
  if (changes.length > 0) {
    await administer(`drop database ${name} with (force)`);
    return;
  }
  await administer(
    `drop schema public cascade; create schema public authorization pg_database_owner;
      grant usage on schema public to public; comment on schema public is 'standard public schema'`,
    url,
  );
  empty.push(name);
}

/**
 * Opens a pool without the code of the service. It ends before its connections do, and `removePostgres` then ends these.
 * An error of a connection without a listener would end the tests.
 */
export function plainPool(url: string): pg.Pool {
  const pool = new pg.Pool({ connectionString: url });
  pool.on('connect', (client) => void client.on('error', () => {}));
  return pool;
}

/** Returns the rows of the statement. */
async function administer(statement: string, url = postgresUrl): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 });
  await client.connect();
  try {
    return (await client.query(statement)).rows ?? [];
  } finally {
    await client.end();
  }
}

/** Drops all databases of a run of Vitest. */
export async function dropDatabases(pid: number): Promise<void> {
  if (!postgresAnswers) return;
  const rows = await administer(`select datname from pg_database where starts_with(datname, '${namesOfRun(pid)}')`);
  for (const { datname } of rows as { datname: string }[]) await administer(`drop database ${datname} with (force)`);
}

const postgresAnswers = await administer('select 1').then(
  () => true,
  () => false,
);
if (!postgresAnswers && process.env.TEST_SERVICES === 'required') {
  throw new Error('PostgreSQL does not answer, and TEST_SERVICES=required wants it.');
}

/** Available databases. Suites that use the database run once for each. */
export const databases: [name: string, create: () => Promise<TestDatabase>][] = [
  ['SQLite', newSqlite],
  ...(postgresAnswers ? [['PostgreSQL', newPostgres] as [string, typeof newPostgres]] : []),
];

const required = process.env.TEST_SERVICES === 'required';

/** True if a Redis for tests answers. */
export const redisAnswers = await redisPings();
if (required && !redisAnswers) throw new Error('Redis does not answer, and TEST_SERVICES=required wants it.');

async function redisPings(): Promise<boolean> {
  const client = createClient({
    url: redisUrl,
    socket: { connectTimeout: 1_000, reconnectStrategy: false },
  });
  client.on('error', () => {});
  try {
    await client.connect();
    await client.ping();
    return true;
  } catch {
    return false;
  } finally {
    if (client.isOpen) client.destroy();
  }
}
