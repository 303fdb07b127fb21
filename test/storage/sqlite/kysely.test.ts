/** Kysely over SQLite, which is loaded for the first query that is built. */
import { createRequire } from 'node:module';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, expect, test, vi } from 'vitest';
import { SqliteConnection } from '../../../src/storage/sqlite/connection.ts';
import { driverOf, kyselyOver } from '../../../src/storage/sqlite/kysely.ts';
import { testClock } from '../../support/clock.ts';

const { cache, resolve } = createRequire(import.meta.url);
const path = resolve('kysely');
const loaded = cache[path];
afterEach(() => {
  cache[path] = loaded;
  vi.resetModules();
});

test('where it can’t be loaded the store is unavailable, and the next query tries again', async () => {
  vi.resetModules();
  const { kysely } = await import('../../../src/storage/sqlite/kysely.ts');
  const fault = new Error('too many open files');
  const broken = {
    loaded: true,
    get exports() {
      throw fault;
    },
  };
  cache[path] = broken as unknown as NodeJS.Module;
  expect(kysely).toThrow(
    expect.objectContaining({
      name: 'StorageUnavailable',
      message: 'Kysely could not be loaded.',
      cause: fault,
    }),
  );
  cache[path] = loaded;
  expect(kysely()).toHaveProperty('SqliteAdapter');
});

test('its end is the end of the connection', async () => {
  const database = new DatabaseSync(':memory:');
  const connection = new SqliteConnection(() => database, testClock());
  const db = kyselyOver(driverOf(connection));
  expect(await db.introspection.getTables()).toEqual([]);
  await db.destroy();
  expect(database.isOpen).toBe(false);
  await expect(connection.migrations()).rejects.toThrow('The store is closed.');
});
