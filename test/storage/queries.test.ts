import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { OpenTransaction, Storage } from '../../src/storage/database.ts';
import { prepareBoth, prepareChange, prepareRead } from '../../src/storage/queries.ts';
import { databases, type TestDatabase } from '../support/databases.ts';

describe.each(databases)('prepared queries on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  let builds = 0;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(systemClock);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  const prepareInsert = () =>
    prepareChange(storage, (db, of: { id: string; email: string }) => {
      builds += 1;
      return db
        .insertInto('operator_audit')
        .values({
          id: of.id,
          at: of.id,
          name: 'lead.created',
          what: 'contact',
          about: of.email,
        })
        .onConflict((conflict) => conflict.doNothing());
    });
  const prepareFind = () =>
    prepareRead(storage, (db, of: { email: string; id: string }) =>
      db
        .selectFrom('operator_audit')
        .select(['id', 'about'])
        .where('about', '=', of.email)
        .where('id', '<>', of.id)
        .orderBy('id'),
    );

  test('bind the values of each run by their names, and build the query once', async () => {
    const insert = prepareInsert();
    const before = builds;
    await storage.write(insert({ id: 'a-1', email: 'a' }));
    await storage.write(insert({ email: 'a', id: 'a-2' }));
    await storage.write(insert({ id: 'a', email: 'a-3' }));
    expect(builds - before).toBe(1);
    const find = prepareFind();
    const [one, other] = [find({ email: 'a', id: 'a-1' }), find({ id: 'a', email: 'a-3' })];
    expect(await storage.read(one)).toEqual([{ id: 'a-2', about: 'a' }]);
    expect(await storage.read(other)).toEqual([]);
  });

  test('bind a value as a value, even if the value is SQL or looks like a placeholder', async () => {
    const [find, insert] = [prepareFind(), prepareInsert()];
    for (const email of ["' or 1=1 --", '$1', '?', 'id', 'Symbol(id)']) {
      await storage.write(insert({ id: `v-${email}`, email }));
      expect(await storage.read(find({ email, id: '' }))).toEqual([{ id: `v-${email}`, about: email }]);
    }
  });

  test('use a parameter in several places, and leave a constant unchanged that equals its name', async () => {
    const twice = prepareRead(storage, (db, of: { contact: string }) =>
      db
        .selectFrom('operator_audit')
        .select('id')
        .where((row) => row.or([row('about', '=', of.contact), row('id', '=', of.contact)]))
        .where('what', '=', 'contact')
        .orderBy('id'),
    );
    const insert = prepareInsert();
    await storage.write(insert({ id: 'twice', email: 'none' }));
    await storage.write(insert({ id: 'other', email: 'twice' }));
    expect(await storage.read(twice({ contact: 'twice' }))).toEqual([{ id: 'other' }, { id: 'twice' }]);
  });

  test('return the number of changed rows, alone and in a transaction', async () => {
    const insert = prepareInsert();
    const erase = prepareChange(storage, (db, of: { email: string }) =>
      db.deleteFrom('operator_audit').where('about', '=', of.email),
    );
    expect(await storage.write(insert({ id: 'n-1', email: 'n' }))).toBe(1);
    expect(await storage.write(insert({ id: 'n-1', email: 'n' }))).toBe(0);
    const counts = await storage.write(async (tx) => [
      await tx.change(insert({ id: 'n-2', email: 'n' })),
      await tx.change(insert({ id: 'n-3', email: 'n' })),
      await tx.change(erase({ email: 'n' })),
      await tx.change(erase({ email: 'n' })),
    ]);
    expect(counts).toEqual([1, 1, 3, 0]);
  });

  test('are rolled back together with their transaction', async () => {
    const insert = prepareInsert();
    const doomed = storage.write(async (tx) => {
      await tx.change(insert({ id: 'd-1', email: 'd' }));
      await tx.change(insert({ id: 'd-2', email: 'd' }));
      throw new Error('rolled back');
    });
    await expect(doomed).rejects.toThrow('rolled back');
    expect(await storage.read(prepareFind()({ email: 'd', id: '' }))).toEqual([]);
  });

  test('are rejected if they run while the query is built or after their transaction has ended', async () => {
    const insert = prepareInsert();
    let executed: Promise<unknown> = Promise.resolve();
    storage.compile((db) => {
      const query = db.deleteFrom('operator_audit');
      executed = query.execute();
      return query;
    });
    await expect(executed).rejects.toThrow(/Only `read` and `write` run a query/);
    const kept: OpenTransaction[] = [];
    await storage.write(async (tx) => {
      kept.push(tx);
    });
    for (const tx of kept) {
      await expect(tx.change(insert({ id: 'late', email: 'late' }))).rejects.toThrow(/transaction/i);
      await expect(tx.deleteFrom('operator_audit').execute()).rejects.toThrow(/transaction/i);
    }
    expect(await storage.read(prepareFind()({ email: 'late', id: '' }))).toEqual([]);
  });

  test('are not built before their first run, so that a start loads no library', async () => {
    const before = builds;
    const insert = prepareInsert();
    expect(builds).toBe(before);
    insert({ id: 'x', email: 'x' });
    expect(builds).toBe(before + 1);
  });

  test('prepareBoth runs the second statement only if the first changed rows, and returns their number', async () => {
    const both = prepareBoth(
      storage,
      (db, of: { first: string; second: string; from: string }) =>
        db.updateTable('operator_audit').set({ what: of.first }).where('id', '=', of.from),
      (db, of, firstChanged) =>
        db
          .insertInto('operator_audit')
          .columns(['id', 'at', 'name', 'what', 'about'])
          .expression(
            db
              .selectNoFrom((value) =>
                [of.second, of.first, 'lead.created', 'contact', of.second].map((text, at) =>
                  value.val(text).as(`value_${at}`),
                ),
              )
              .where(firstChanged),
          ),
    );
    await storage.write(prepareInsert()({ id: 'both', email: 'both' }));
    expect(await storage.write(both({ first: 'a', second: 'both-2', from: 'both' }))).toBe(1);
    expect(await storage.write(both({ first: 'b', second: 'both-3', from: 'nobody' }))).toBe(0);
    await storage.write(async (tx) => {
      expect(await tx.change(both({ first: 'c', second: 'both-4', from: 'both' }))).toBe(1);
    });
    const rows = await storage.read((db) =>
      db.selectFrom('operator_audit').select(['id', 'what', 'about']).where('id', 'like', 'both%').orderBy('id'),
    );
    expect(rows).toEqual([
      { id: 'both', what: 'c', about: 'both' },
      { id: 'both-2', what: 'contact', about: 'both-2' },
      { id: 'both-4', what: 'contact', about: 'both-4' },
    ]);
    // A constraint that the second statement breaks undoes the first one.
    const broken = storage.write(both({ first: 'd', second: 'both-4', from: 'both' }));
    await expect(broken).rejects.toThrow(/unique/i);
    expect(
      (await storage.read((db) => db.selectFrom('operator_audit').selectAll().where('what', '=', 'd'))).length,
    ).toBe(0);
  });
});
