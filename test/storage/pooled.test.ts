/** Statements that a pool of connections sends to the server. */
import { Kysely, PostgresDialect } from 'kysely';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { Change } from '../../src/storage/database.ts';
import { readAndWrite } from '../../src/storage/queries.ts';
import type { Schema } from '../../src/storage/schema.ts';
import { databases, plainPool, type TestDatabase } from '../support/databases.ts';

const create = databases.find(([name]) => name === 'PostgreSQL')?.[1];

describe.runIf(create !== undefined)('readAndWrite on a pool', () => {
  let database: TestDatabase;
  let db: Kysely<Schema>;
  let store: ReturnType<typeof readAndWrite>;
  const told: string[] = [];
  beforeAll(async () => {
    database = await (create ?? expect.fail())();
    await (await database.open(systemClock)).close();
    db = new Kysely<Schema>({
      dialect: new PostgresDialect({ pool: plainPool(database.url) }),
      log: ({ query }) => void told.push(query.sql.split(' ')[0] ?? ''),
    });
    store = readAndWrite(db);
  });
  beforeEach(async () => {
    await store.write((tx) => tx.deleteFrom('operator_audit').execute());
    told.length = 0;
  });
  afterAll(async () => {
    await db.destroy();
    await database.remove();
  });

  const values = { at: '', name: 'n', what: 'w', about: 'a' };
  const insert = (id: string) =>
    store.compile((on) =>
      on
        .insertInto('operator_audit')
        .values({ ...values, id: id })
        .onConflict((conflict) => conflict.column('id').doNothing()),
    ) as unknown as Change['change'];
  const strict = (id: string) => store.compile((on) => on.insertInto('operator_audit').values({ ...values, id: id }));
  const kept = async () =>
    (await store.read((on) => on.selectFrom('operator_audit').select('id').orderBy('id'))).map((row) => row.id);

  test('sends one prepared change without begin and commit', async () => {
    expect(await store.write({ change: insert('a') })).toBe(1);
    expect(told).toEqual(['insert']);
    expect(await kept()).toEqual(['a']);
  });

  test('sends the second statement in the same transaction, and only if the first changed a row', async () => {
    expect(await store.write({ change: insert('a'), second: strict('b') })).toBe(1);
    expect(told).toEqual(['begin', 'insert', 'insert', 'commit']);
    told.length = 0;
    expect(await store.write({ change: insert('a'), second: strict('c') })).toBe(0);
    expect(told).toEqual(['begin', 'insert', 'commit']);
    await expect(store.write({ change: insert('d'), second: strict('b') })).rejects.toThrow();
    expect(await kept()).toEqual(['a', 'b']);
  });

  test('commits all changes of a bulk write together, or none of them', async () => {
    const both = (one: string, other: string) =>
      store.writeBulk(async (tx) => [
        await tx.change({ change: insert(one) }),
        await tx.change({ change: insert(other) }),
      ]);
    expect(await both('a', 'b')).toEqual([1, 1]);
    expect(told).toEqual(['begin', 'insert', 'insert', 'commit']);
    const fails = store.writeBulk(async (tx) => {
      await tx.change({ change: insert('c') });
      throw new RangeError('a defect');
    });
    await expect(fails).rejects.toThrow('a defect');
    expect(await kept()).toEqual(['a', 'b']);
  });
});
