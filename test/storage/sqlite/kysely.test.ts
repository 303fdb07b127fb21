import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { driverOf, kyselyOver, SqliteConnection } from '../../../src/storage/sqlite/connection.ts';
import { testClock } from '../../support/clock.ts';

test('the SQLite dialect closes the connection when Kysely is destroyed', async () => {
  const database = new DatabaseSync(':memory:');
  const connection = new SqliteConnection(() => database, testClock());
  const db = kyselyOver(driverOf(connection));
  expect(await db.introspection.getTables()).toEqual([]);
  await db.destroy();
  expect(database.isOpen).toBe(false);
  await expect(connection.begin()).rejects.toThrow('The store is closed.');
});
