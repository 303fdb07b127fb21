/** One connection to a real database file: what it does where a statement can't be run (contract §4). */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CompiledQuery } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { SqliteConnection, type SqliteDatabase } from '../../../src/storage/sqlite/connection.ts';
import { type TestClock, testClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/process.ts';

const statement = (sql: string, ...parameters: unknown[]) => ({ sql, parameters });
const query = (sql: string) => CompiledQuery.raw(sql);
const numbers = 'select number from numbers order by number';

/** The primary codes of SQLite's errors, and one that says more in its higher bits (SQLITE_IOERR_FSYNC). */
const [BUSY, FULL, IOERR_FSYNC] = [5, 13, 1034];

let path: string;
let clock: TestClock;
/** How often a lock was waited for. */
let waits: number;
/** Called before each wait. */
let onWait: () => void;
let opened: DatabaseSync[];
let prepared: string[];
/** The statements that fail, by the code that SQLite would give. */
let failing: Map<string, number>;
let other: DatabaseSync;
let connection: SqliteConnection;

/** A real database, in which statements of the list fail where they would be run. */
function openFailing(): SqliteDatabase {
  const database = new DatabaseSync(path, { timeout: 0 });
  opened.push(database);
  const failAt = (sql: string) => {
    const errcode = failing.get(sql);
    if (errcode !== undefined) throw Object.assign(new Error('as SQLite says it'), { errcode });
  };
  return {
    prepare: (sql) => {
      prepared.push(sql);
      const own = database.prepare(sql);
      const run = own.run.bind(own);
      const all = own.all.bind(own);
      own.run = ((...given: Parameters<typeof run>) => {
        failAt(sql);
        return run(...given);
      }) as typeof own.run;
      own.all = ((...given: Parameters<typeof all>) => {
        failAt(sql);
        return all(...given);
      }) as typeof own.all;
      return own;
    },
    exec: (sql) => {
      failAt(sql);
      database.exec(sql);
    },
    close: () => database.close(),
    get isTransaction() {
      return database.isTransaction;
    },
  };
}

beforeEach(() => {
  path = join(temporaryFolder(), 'service.db');
  other = new DatabaseSync(path);
  other.exec('pragma journal_mode=wal; create table numbers (number integer unique)');
  waits = 0;
  onWait = () => {};
  opened = [];
  prepared = [];
  failing = new Map();
  clock = testClock();
  const sleep = async (ms: number) => {
    onWait();
    waits += 1;
    clock.advance(ms);
  };
  connection = new SqliteConnection(openFailing, { ...clock, sleep });
});
afterEach(() => {
  connection.end();
  other.close();
});

const insert = (number: number) =>
  connection.executeQuery(statement('insert into numbers values (?)', number));
const stored = () =>
  other
    .prepare(numbers)
    .all()
    .map(({ number }) => number);
const openNow = () => opened.filter(({ isOpen }) => isOpen).length;

describe('what runs', () => {
  test('a statement tells the rows it gives, or how many it changed', async () => {
    expect(opened).toHaveLength(0);
    expect(await insert(1)).toEqual({ rows: [], numAffectedRows: 1n });
    await insert(2);
    const all = statement('update numbers set number = number + 10');
    expect(await connection.executeQuery(all)).toEqual({ rows: [], numAffectedRows: 2n });
    expect(await connection.executeQuery(statement(numbers))).toEqual({
      rows: [{ number: 11 }, { number: 12 }],
    });
    const returning = statement('insert into numbers values (?) returning number', 3);
    expect(await connection.executeQuery(returning)).toEqual({ rows: [{ number: 3 }] });
    expect(opened).toHaveLength(1);
  });

  test('the same statement is prepared once', async () => {
    for (const number of [1, 2, 3]) await insert(number);
    expect([stored(), prepared.length]).toEqual([[1, 2, 3], 1]);
  });

  test('nothing streams', async () => {
    await expect(connection.streamQuery().next()).rejects.toThrow('Streaming is not used.');
  });

  test('what is closed is closed at once, and nothing opens it again', async () => {
    await insert(1);
    connection.end();
    expect(openNow()).toBe(0);
    await expect(insert(2)).rejects.toThrow(new StorageUnavailable('The store is closed.'));
    expect(opened).toHaveLength(1);
  });
});

describe('a lock of another process', () => {
  test('is waited for up to two seconds, every five milliseconds, and the next statement waits anew', async () => {
    await insert(1);
    other.exec('begin immediate');
    for (let times = 1; times <= 2; times += 1) {
      await expect(insert(2)).rejects.toThrow(StorageUnavailable);
      expect(waits).toBe(times * 400);
    }
    other.exec('rollback');
    await insert(2);
    expect([stored(), waits]).toEqual([[1, 2], 800]);
  });

  test('that ends meanwhile is no fault', async () => {
    other.exec('begin immediate');
    onWait = () => {
      if (waits === 10) other.exec('rollback');
    };
    await insert(1);
    expect([stored(), waits]).toEqual([[1], 11]);
  });

  test('that was waited for in vain costs the connection, for it may be our own', async () => {
    await insert(1);
    other.exec('begin immediate');
    const refused = await insert(2).catch((error: unknown) => error);
    expect(refused).toMatchObject({
      name: 'StorageUnavailable',
      message: 'SQLite could not run a statement.',
      cause: { errcode: BUSY },
    });
    expect([opened.length, openNow()]).toEqual([1, 0]);
    other.exec('rollback');
    await insert(2);
    expect([opened.length, openNow()]).toEqual([2, 1]);
  });

  test('inside a transaction is not waited for: others would wait for that', async () => {
    await connection.begin();
    failing.set('insert into numbers values (?)', BUSY);
    await expect(insert(1)).rejects.toThrow(StorageUnavailable);
    expect(waits).toBe(0);
  });
});

describe('a transaction', () => {
  test('holds off whoever else would write, and is there for others once it is committed', async () => {
    await connection.begin();
    expect(() => other.exec('begin immediate')).toThrow('locked');
    await insert(1);
    expect(stored()).toEqual([]);
    await connection.commit();
    expect(stored()).toEqual([1]);
    other.exec('begin immediate');
    // What comes after it waits for a lock again.
    onWait = () => other.exec('rollback');
    await insert(2);
    expect(waits).toBe(1);
  });

  test('that is rolled back leaves nothing, and the connection goes on', async () => {
    await connection.begin();
    await insert(1);
    connection.rollback();
    expect(connection.readCommitted(query(numbers))).toEqual([]);
    connection.rollback();
    await insert(2);
    expect([stored(), opened.length]).toEqual([[2], 1]);
  });

  test('whose rollback fails ends with its connection', async () => {
    await connection.begin();
    await insert(1);
    failing.set('rollback', FULL);
    connection.rollback();
    expect(openNow()).toBe(0);
    await insert(2);
    expect([stored(), opened.length]).toEqual([[2], 2]);
  });

  test('whose connection was given up runs nothing until its rollback', async () => {
    await connection.begin();
    await insert(1);
    failing.set('insert into numbers values (?)', IOERR_FSYNC);
    await expect(insert(2)).rejects.toThrow(
      new StorageUnavailable('SQLite could not run a statement.'),
    );
    expect(openNow()).toBe(0);
    failing.clear();
    await expect(insert(3)).rejects.toThrow(new StorageUnavailable('The transaction was lost.'));
    await expect(connection.commit()).rejects.toThrow('The transaction was lost.');
    expect(connection.readCommitted(query(numbers))).toBeUndefined();
    connection.rollback();
    await insert(4);
    expect(stored()).toEqual([4]);
  });
});

describe('a statement that fails', () => {
  test.each([
    ['is no SQL', 'no such statement', 'syntax error'],
    ['breaks a constraint', 'insert into numbers values (1)', 'UNIQUE constraint failed'],
  ])('because it %s is our own mistake, told as it is', async (_why, sql, message) => {
    await insert(1);
    const failed = await connection.executeQuery(statement(sql)).catch((error: unknown) => error);
    expect(failed).not.toBeInstanceOf(StorageUnavailable);
    expect(failed).toMatchObject({ message: expect.stringContaining(message) });
    expect([opened.length, openNow(), waits]).toEqual([1, 1, 0]);
  });

  test('before it comes to SQLite is our own mistake as well', async () => {
    const odd = statement('insert into numbers values (?)', Symbol('no value'));
    await expect(connection.executeQuery(odd)).rejects.toThrow(TypeError);
    expect(openNow()).toBe(1);
  });

  test.each([FULL, IOERR_FSYNC])(
    'with an effect that nobody knows (%i) costs the connection: what is read next is on the disk',
    async (errcode) => {
      await insert(1);
      failing.set('insert into numbers values (?)', errcode);
      await expect(insert(2)).rejects.toMatchObject({
        name: 'StorageUnavailable',
        message: 'SQLite could not run a statement.',
        cause: { errcode },
      });
      expect([openNow(), waits]).toEqual([0, 0]);
      failing.clear();
      expect(connection.readCommitted(query(numbers))).toEqual([{ number: 1 }]);
      await insert(2);
      expect([stored(), opened.length]).toEqual([[1, 2], 2]);
    },
  );
});

describe('reading what is committed', () => {
  test('waits where a transaction is open here, from its first moment to its end', async () => {
    await insert(1);
    const begun = connection.begin();
    expect(connection.readCommitted(query(numbers))).toBeUndefined();
    await begun;
    expect(connection.readCommitted(query(numbers))).toBeUndefined();
    await insert(2);
    expect(connection.readCommitted(query(numbers))).toBeUndefined();
    await connection.commit();
    expect(connection.readCommitted(query(numbers))).toEqual([{ number: 1 }, { number: 2 }]);
  });

  test('goes on beside the lock of another process that writes', async () => {
    await insert(1);
    other.exec('begin immediate; insert into numbers values (2)');
    expect(connection.readCommitted(query(numbers))).toEqual([{ number: 1 }]);
  });

  test('has to wait for a lock that lets nobody read, and keeps its connection', async () => {
    failing.set(numbers, BUSY);
    expect(connection.readCommitted(query(numbers))).toBeUndefined();
    expect(openNow()).toBe(1);
  });

  test('that fails says so as any other statement', () => {
    expect(() => connection.readCommitted(query('select other from numbers'))).toThrow(
      'no such column',
    );
    failing.set(numbers, FULL);
    expect(() => connection.readCommitted(query(numbers))).toThrow(StorageUnavailable);
    expect(openNow()).toBe(0);
  });
});

describe('the migrations that a file has had', () => {
  const appliedNow = 'create table kysely_migration (name text)';

  test('are none in a new file', async () => {
    expect(await connection.migrations()).toEqual([]);
  });

  test('are read in a transaction, which ends', async () => {
    other.exec(`${appliedNow}; insert into kysely_migration values ('0001-one'), ('0002-two')`);
    expect(await connection.migrations()).toEqual(['0001-one', '0002-two']);
    other.exec('begin immediate; rollback');
    expect(await insert(1)).toMatchObject({ numAffectedRows: 1n });
  });

  test('that can’t be read leave no transaction open', async () => {
    other.exec('create table kysely_migration (other text)');
    await expect(connection.migrations()).rejects.toThrow('no such column');
    other.exec('begin immediate; rollback');
    await insert(1);
    expect(stored()).toEqual([1]);
  });

  test('wait for a lock: who could write reads them', async () => {
    other.exec('begin immediate');
    onWait = () => other.exec('rollback');
    expect([await connection.migrations(), waits]).toEqual([[], 1]);
  });
});
