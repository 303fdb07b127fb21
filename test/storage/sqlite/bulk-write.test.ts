import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import type { OpenTransaction, Storage } from '../../../src/storage/database.ts';
import { prepareBoth, prepareChange } from '../../../src/storage/queries.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';

const path = join(mkdtempSync(join(tmpdir(), 'bulk-')), 'service.db');
let storage: Storage;
beforeAll(async () => {
  storage = await openSqlite(path, systemClock);
});
afterAll(() => storage.close());
beforeEach(() => storage.write(async (tx) => void (await tx.deleteFrom('operator_audit').execute())));

const insert = (id: string) => (tx: OpenTransaction) =>
  tx.insertInto('operator_audit').values({ id, at: '', name: 'n', what: 'w', about: 'a' }).execute();
const stored = async () => {
  const rows = await storage.read((db) => db.selectFrom('operator_audit').select('id').orderBy('id'));
  return rows.map(({ id }) => id);
};

describe('writeBulk on SQLite (reference §19.4)', () => {
  test('commits all its changes together and returns the result and the numbers of changed rows', async () => {
    const rename = prepareChange(storage, (db, of: { id: string; name: string }) =>
      db.updateTable('operator_audit').set({ name: of.name }).where('id', '=', of.id),
    );
    const result = await storage.writeBulk(async (tx) => {
      for (let n = 0; n < 5; n += 1) await insert(`a-${n}`)(tx);
      const changed = await tx.change(rename({ id: 'a-0', name: 'Jo' }));
      const own = await tx.selectFrom('operator_audit').select('name').where('id', '=', 'a-0').execute();
      const { numDeletedRows } = await tx
        .deleteFrom('operator_audit')
        .where('id', '>', 'a-2')
        .executeTakeFirstOrThrow();
      const gone = await tx.deleteFrom('operator_audit').where('id', '=', 'a-2').returning('id').execute();
      return [changed, own, numDeletedRows, gone];
    });
    expect(result).toEqual([1, [{ name: 'Jo' }], 2n, [{ id: 'a-2' }]]);
    expect(await stored()).toEqual(['a-0', 'a-1']);
  });

  test('runs the second statement of a change only if the first one changed a row', async () => {
    const both = prepareBoth(
      storage,
      (db, of: { from: string; to: string }) => db.deleteFrom('operator_audit').where('id', '=', of.from),
      (db, of, firstChanged) =>
        db.updateTable('operator_audit').set({ what: of.to }).where('id', '=', of.to).where(firstChanged),
    );
    for (const id of ['a', 'b']) await storage.write(insert(id));
    const deletes = (from: string) => storage.writeBulk((tx) => tx.change(both({ from, to: 'b' })));
    const whatOfB = async () =>
      (await storage.read((db) => db.selectFrom('operator_audit').select('what').where('id', '=', 'b')))[0]?.what;
    expect([await deletes('nobody'), await whatOfB()]).toEqual([0, 'w']);
    expect([await deletes('a'), await whatOfB()]).toEqual([1, 'b']);
  });

  test('allows reads of the committed rows while it runs, and delays writes until it ends', async () => {
    await storage.write(insert('b-0'));
    const began = Promise.withResolvers<void>();
    const end = Promise.withResolvers<void>();
    const order: string[] = [];
    const bulk = storage.writeBulk(async (tx) => {
      await tx.deleteFrom('operator_audit').execute();
      began.resolve();
      await end.promise;
      order.push('bulk');
    });
    await began.promise;
    const writes = ['b-1', 'b-2'].map((id) => storage.write(insert(id)).then(() => order.push(id)));
    expect(await stored()).toEqual(['b-0']);
    await systemClock.sleep(50);
    expect(order).toEqual([]);
    end.resolve();
    await Promise.all([bulk, ...writes]);
    expect(order).toEqual(['bulk', 'b-1', 'b-2']);
    expect(await stored()).toEqual(['b-1', 'b-2']);
  });

  test('rolls back and throws the error of its function', async () => {
    const failing = storage.writeBulk(async (tx) => {
      await insert('c-1')(tx);
      throw new RangeError('no');
    });
    await expect(failing).rejects.toThrow(RangeError);
    await storage.write(insert('c-2'));
    expect(await stored()).toEqual(['c-2']);
  });

  test('rolls back and throws the error of a statement, also for its later statements', async () => {
    let later: unknown;
    const failing = storage.writeBulk(async (tx) => {
      await insert('d-1')(tx);
      const twice = await insert('d-1')(tx).catch((error) => error);
      later = await insert('d-2')(tx).catch((error) => error);
      throw twice;
    });
    await expect(failing).rejects.toMatchObject({ errcode: 1555, message: expect.stringContaining('UNIQUE') });
    expect(later).toBeInstanceOf(Error);
    expect(await stored()).toEqual([]);
    await storage.writeBulk(insert('d-3'));
    expect(await stored()).toEqual(['d-3']);
  });

  test('throws StorageUnavailable while another process holds the lock, and commits afterwards', async () => {
    const other = new DatabaseSync(path);
    other.exec('begin immediate');
    await expect(storage.writeBulk(insert('e-1'))).rejects.toMatchObject({ name: 'StorageUnavailable' });
    other.exec('rollback');
    other.close();
    await storage.writeBulk(insert('e-2'));
    expect(await stored()).toEqual(['e-2']);
  });

  test('overwrites deleted rows in the file', async () => {
    await storage.write(insert('f-canary'));
    await storage.writeBulk(async (tx) => void (await tx.deleteFrom('operator_audit').execute()));
    const { readFileSync } = await import('node:fs');
    const database = new DatabaseSync(path);
    database.exec('pragma wal_checkpoint(truncate)');
    database.close();
    expect(readFileSync(path).includes('f-canary')).toBe(false);
  });
});
