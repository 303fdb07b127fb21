import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { OpenTransaction, Storage } from '../../src/storage/database.ts';
import { prepareBoth, prepareChange, prepareRead } from '../../src/storage/prepare-query.ts';
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
        .insertInto('inbox')
        .values({
          event_id: of.id,
          type: 'lead.created',
          form: 'contact',
          email: of.email,
          received_at: of.id,
          event: '{}',
        })
        .onConflict((conflict) => conflict.doNothing());
    });
  const prepareFind = () =>
    prepareRead(storage, (db, of: { email: string; id: string }) =>
      db
        .selectFrom('inbox')
        .select(['event_id', 'email'])
        .where('email', '=', of.email)
        .where('event_id', '<>', of.id)
        .orderBy('event_id'),
    );

  test('each run has its own values, in the places that their names have', async () => {
    const insert = prepareInsert();
    const before = builds;
    await storage.write(insert({ id: 'a-1', email: 'a' }));
    await storage.write(insert({ email: 'a', id: 'a-2' }));
    await storage.write(insert({ id: 'a', email: 'a-3' }));
    expect(builds - before).toBe(1);
    const find = prepareFind();
    const [one, other] = [find({ email: 'a', id: 'a-1' }), find({ id: 'a', email: 'a-3' })];
    expect(await storage.read(one)).toEqual([{ event_id: 'a-2', email: 'a' }]);
    expect(await storage.read(other)).toEqual([]);
  });

  test('a value that would be SQL, or looks like a mark, is a value', async () => {
    const [find, insert] = [prepareFind(), prepareInsert()];
    for (const email of ["' or 1=1 --", '$1', '?', 'id', 'Symbol(id)']) {
      await storage.write(insert({ id: `v-${email}`, email }));
      expect(await storage.read(find({ email, id: '' }))).toEqual([
        { event_id: `v-${email}`, email },
      ]);
    }
  });

  test('a parameter may stand in several places, and a value that is no parameter stays, also one like its name', async () => {
    const twice = prepareRead(storage, (db, of: { contact: string }) =>
      db
        .selectFrom('inbox')
        .select('event_id')
        .where((row) => row.or([row('email', '=', of.contact), row('event_id', '=', of.contact)]))
        .where('form', '=', 'contact')
        .orderBy('event_id'),
    );
    const insert = prepareInsert();
    await storage.write(insert({ id: 'twice', email: 'none' }));
    await storage.write(insert({ id: 'other', email: 'twice' }));
    expect(await storage.read(twice({ contact: 'twice' }))).toEqual([
      { event_id: 'other' },
      { event_id: 'twice' },
    ]);
  });

  test('a change gives the number of rows it changed, alone as in a transaction', async () => {
    const insert = prepareInsert();
    const erase = prepareChange(storage, (db, of: { email: string }) =>
      db.deleteFrom('inbox').where('email', '=', of.email),
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

  test('in a transaction they stand or fall with it', async () => {
    const insert = prepareInsert();
    const doomed = storage.write(async (tx) => {
      await tx.change(insert({ id: 'd-1', email: 'd' }));
      await tx.change(insert({ id: 'd-2', email: 'd' }));
      throw new Error('rolled back');
    });
    await expect(doomed).rejects.toThrow('rolled back');
    expect(await storage.read(prepareFind()({ email: 'd', id: '' }))).toEqual([]);
  });

  test('nothing is written past a transaction: neither where a query is built nor after the end', async () => {
    const insert = prepareInsert();
    let executed: Promise<unknown> = Promise.resolve();
    storage.compile((db) => {
      const query = db.deleteFrom('inbox');
      executed = query.execute();
      return query;
    });
    await expect(executed).rejects.toThrow(/not where it is built/);
    const kept: OpenTransaction[] = [];
    await storage.write(async (tx) => {
      kept.push(tx);
    });
    for (const tx of kept) {
      await expect(tx.change(insert({ id: 'late', email: 'late' }))).rejects.toThrow(
        /transaction/i,
      );
      await expect(tx.deleteFrom('inbox').execute()).rejects.toThrow(/transaction/i);
    }
    expect(await storage.read(prepareFind()({ email: 'late', id: '' }))).toEqual([]);
  });

  test('nothing is built before the first run: a start loads no library for it', async () => {
    const before = builds;
    const insert = prepareInsert();
    expect(builds).toBe(before);
    insert({ id: 'x', email: 'x' });
    expect(builds).toBe(before + 1);
  });

  test('of two statements the second runs where the first changed a row, and its number is given', async () => {
    const both = prepareBoth(
      storage,
      (db, of: { first: string; second: string; from: string }) =>
        db.updateTable('inbox').set({ form: of.first }).where('event_id', '=', of.from),
      (db, of, firstChanged) =>
        db
          .insertInto('inbox')
          .columns(['event_id', 'type', 'form', 'email', 'received_at', 'event'])
          .expression(
            db
              .selectNoFrom((value) =>
                [of.second, 'lead.created', 'contact', of.second, of.first, '{}'].map((text, at) =>
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
      db
        .selectFrom('inbox')
        .select(['event_id', 'form', 'email'])
        .where('event_id', 'like', 'both%')
        .orderBy('event_id'),
    );
    expect(rows).toEqual([
      { event_id: 'both', form: 'c', email: 'both' },
      { event_id: 'both-2', form: 'contact', email: 'both-2' },
      { event_id: 'both-4', form: 'contact', email: 'both-4' },
    ]);
    // A constraint that the second breaks takes the first back.
    const broken = storage.write(both({ first: 'd', second: 'both-4', from: 'both' }));
    await expect(broken).rejects.toThrow(/unique/i);
    expect(
      (await storage.read((db) => db.selectFrom('inbox').selectAll().where('form', '=', 'd')))
        .length,
    ).toBe(0);
  });
});
