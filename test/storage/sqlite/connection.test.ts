/** One connection to a real database file, and statements that can't run (reference §5.12). */
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CompiledQuery } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { migrate } from '../../../src/storage/migrate.ts';
import { driverOf, kyselyOver, SqliteConnection, type SqliteDatabase } from '../../../src/storage/sqlite/connection.ts';
import { type TestClock, testClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/process.ts';

const statement = (sql: string, ...parameters: unknown[]) => ({ sql, parameters });
const query = (sql: string) => CompiledQuery.raw(sql);
const numbers = 'select number from numbers order by number';

/** Primary codes of SQLite's errors, and one extended code (SQLITE_IOERR_FSYNC). */
const [BUSY, FULL, IOERR_FSYNC] = [5, 13, 1034];

let path: string;
let clock: TestClock;
/** Number of waits for a lock. */
let waits: number;
/** Called before each wait. */
let onWait: () => void;
let opened: DatabaseSync[];
let prepared: string[];
/** The statements that fail, with the code that SQLite would give. */
let failing: Map<string, number>;
let other: DatabaseSync;
let connection: SqliteConnection;

/** Opens a real database in which the listed statements fail when they run. */
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

const insert = (number: number) => connection.executeQuery(statement('insert into numbers values (?)', number));
const stored = () =>
  other
    .prepare(numbers)
    .all()
    .map(({ number }) => number);
const openNow = () => opened.filter(({ isOpen }) => isOpen).length;

describe('SqliteConnection, statements', () => {
  test('returns the rows of a statement, or the number of rows it changed', async () => {
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

  test('prepares the same statement once', async () => {
    for (const number of [1, 2, 3]) await insert(number);
    expect([stored(), prepared.length]).toEqual([[1, 2, 3], 1]);
  });

  test('rejects streaming', async () => {
    await expect(connection.streamQuery().next()).rejects.toThrow('Streaming is not used.');
  });

  test('closes the database on end, and never reopens it', async () => {
    await insert(1);
    connection.end();
    expect(openNow()).toBe(0);
    await expect(insert(2)).rejects.toThrow(new StorageUnavailable('The store is closed.'));
    expect(opened).toHaveLength(1);
  });
});

describe('SqliteConnection, lock of another process', () => {
  test('tries every five milliseconds for up to two seconds for each statement while the lock is held', async () => {
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

  test('runs the statement if the lock ends during the wait', async () => {
    other.exec('begin immediate');
    onWait = () => {
      if (waits === 10) other.exec('rollback');
    };
    await insert(1);
    expect([stored(), waits]).toEqual([[1], 11]);
  });

  test('closes the connection if the lock does not end in time, and opens another for the next statement', async () => {
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

  test('does not wait for a lock inside a transaction, because other writes would wait too', async () => {
    await connection.begin();
    failing.set('insert into numbers values (?)', BUSY);
    await expect(insert(1)).rejects.toThrow(StorageUnavailable);
    expect(waits).toBe(0);
  });
});

describe('SqliteConnection, transactions', () => {
  test('prevent other writes until the commit, which makes the rows visible', async () => {
    await connection.begin();
    expect(() => other.exec('begin immediate')).toThrow('locked');
    await insert(1);
    expect(stored()).toEqual([]);
    await connection.commit();
    expect(stored()).toEqual([1]);
    other.exec('begin immediate');
    // The next statement waits for a lock again.
    onWait = () => other.exec('rollback');
    await insert(2);
    expect(waits).toBe(1);
  });

  test('store nothing after a rollback, and use the same connection again', async () => {
    await connection.begin();
    await insert(1);
    connection.rollback();
    expect(connection.readCommitted(query(numbers))).toEqual([]);
    connection.rollback();
    await insert(2);
    expect([stored(), opened.length]).toEqual([[2], 1]);
  });

  test('close the connection if the rollback fails', async () => {
    await connection.begin();
    await insert(1);
    failing.set('rollback', FULL);
    connection.rollback();
    expect(openNow()).toBe(0);
    await insert(2);
    expect([stored(), opened.length]).toEqual([[2], 2]);
  });

  test('run no statement after their connection was closed, until the rollback', async () => {
    await connection.begin();
    await insert(1);
    failing.set('insert into numbers values (?)', IOERR_FSYNC);
    await expect(insert(2)).rejects.toThrow(new StorageUnavailable('SQLite could not run a statement.'));
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

describe('SqliteConnection, statement that fails', () => {
  test.each([
    ['is no SQL', 'no such statement', 'syntax error'],
    ['breaks a constraint', 'insert into numbers values (1)', 'UNIQUE constraint failed'],
  ])('rethrows the error if the statement %s', async (_why, sql, message) => {
    await insert(1);
    const failed = await connection.executeQuery(statement(sql)).catch((error: unknown) => error);
    expect(failed).not.toBeInstanceOf(StorageUnavailable);
    expect(failed).toMatchObject({ message: expect.stringContaining(message) });
    expect([opened.length, openNow(), waits]).toEqual([1, 1, 0]);
  });

  test('rethrows the error if a parameter has no SQL type', async () => {
    const odd = statement('insert into numbers values (?)', Symbol('no value'));
    await expect(connection.executeQuery(odd)).rejects.toThrow(TypeError);
    expect(openNow()).toBe(1);
  });

  test.each([FULL, IOERR_FSYNC])(
    'closes the connection after an error with an unknown effect (%i), so reads come from disk',
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

describe('readCommitted', () => {
  test('returns undefined while a transaction is open on the same connection', async () => {
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

  test('reads while another process holds the write lock', async () => {
    await insert(1);
    other.exec('begin immediate; insert into numbers values (2)');
    expect(connection.readCommitted(query(numbers))).toEqual([{ number: 1 }]);
  });

  test('returns undefined if a lock prevents reading, and keeps the connection open', async () => {
    failing.set(numbers, BUSY);
    expect(connection.readCommitted(query(numbers))).toBeUndefined();
    expect(openNow()).toBe(1);
  });

  test('throws the error if the read fails', () => {
    expect(() => connection.readCommitted(query('select other from numbers'))).toThrow('no such column');
    failing.set(numbers, FULL);
    expect(() => connection.readCommitted(query(numbers))).toThrow(StorageUnavailable);
    expect(openNow()).toBe(0);
  });
});

describe('migrate on SqliteConnection', () => {
  const migrating = () => migrate(kyselyOver(driverOf(connection)), 'sqlite');

  test('ends the transaction in which it reads the list of migrations', async () => {
    await migrating();
    await migrating();
    other.exec('begin immediate; rollback');
    expect(await insert(1)).toMatchObject({ numAffectedRows: 1n });
  });

  test('leaves no transaction open if the list of migrations can’t be read', async () => {
    other.exec('create table kysely_migration (other text)');
    await expect(migrating()).rejects.toThrow('no such column');
    other.exec('begin immediate; rollback');
    await insert(1);
    expect(stored()).toEqual([1]);
  });

  test('waits for a lock to read the list of migrations', async () => {
    await migrating();
    other.exec('begin immediate');
    onWait = () => other.exec('rollback');
    await migrating();
    expect(waits).toBe(1);
  });
});
