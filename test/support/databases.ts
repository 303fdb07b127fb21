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

async function newPostgres(): Promise<TestDatabase> {
  const name = `service_test_${randomUUID().slice(0, 8)}`;
  await administer(`create database ${name}`);
  const url = new URL(postgresUrl);
  url.pathname = `/${name}`;
  return {
    url: url.href,
    open: () => openPostgres(url.href),
    remove: () => administer(`drop database ${name} with (force)`),
  };
}

async function administer(statement: string): Promise<void> {
  const client = new pg.Client({ connectionString: postgresUrl, connectionTimeoutMillis: 1_000 });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
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
