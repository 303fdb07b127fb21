/** What goes to the server of a pool: as few statements as a write needs. */
import { Kysely, PostgresDialect } from 'kysely';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { Change } from '../../src/storage/database.ts';
import { readAndWrite } from '../../src/storage/pooled.ts';
import type { Schema } from '../../src/storage/schema.ts';
import { databases, type TestDatabase } from '../support/databases.ts';

const create = databases.find(([name]) => name === 'PostgreSQL')?.[1];

describe.runIf(create !== undefined)('a pool of connections', () => {
  let database: TestDatabase;
  let db: Kysely<Schema>;
  let store: ReturnType<typeof readAndWrite>;
  const told: string[] = [];
  beforeAll(async () => {
    database = await (create ?? expect.fail())();
    await (await database.open(systemClock)).close();
    const pool = new pg.Pool({ connectionString: database.url });
    db = new Kysely<Schema>({
      dialect: new PostgresDialect({ pool }),
      log: ({ query }) => void told.push(query.sql.split(' ')[0] ?? ''),
    });
    store = readAndWrite(db);
  });
  beforeEach(async () => {
    await store.write((tx) => tx.deleteFrom('inbox').execute());
    told.length = 0;
  });
  afterAll(async () => {
    await db.destroy();
    await database.remove();
  });

  const values = { type: 't', form: 'f', email: 'e', received_at: '', event: '{}' };
  const insert = (id: string) =>
    store.compile((on) =>
      on
        .insertInto('inbox')
        .values({ ...values, event_id: id })
        .onConflict((conflict) => conflict.column('event_id').doNothing()),
    ) as unknown as Change['change'];
  const strict = (id: string) =>
    store.compile((on) => on.insertInto('inbox').values({ ...values, event_id: id }));
  const kept = async () =>
    (await store.read((on) => on.selectFrom('inbox').select('event_id').orderBy('event_id'))).map(
      (row) => row.event_id,
    );

  test('one prepared statement is a transaction by itself', async () => {
    expect(await store.write({ change: insert('a') })).toBe(1);
    expect(told).toEqual(['insert']);
    expect(await kept()).toEqual(['a']);
  });

  test('of two statements the second goes out where the first changed a row, in one transaction', async () => {
    expect(await store.write({ change: insert('a'), second: strict('b') })).toBe(1);
    expect(told).toEqual(['begin', 'insert', 'insert', 'commit']);
    told.length = 0;
    expect(await store.write({ change: insert('a'), second: strict('c') })).toBe(0);
    expect(told).toEqual(['begin', 'insert', 'commit']);
    await expect(store.write({ change: insert('d'), second: strict('b') })).rejects.toThrow();
    expect(await kept()).toEqual(['a', 'b']);
  });
});
