/** The store over one connection to a database file. */
import fs, { rmSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { CompiledQuery, sql } from 'kysely';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { type Storage, StorageUnavailable } from '../../../src/storage/database.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';
import { type TestClock, testClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/process.ts';

const { statfsSync } = fs;

let path: string;
let clock: TestClock;
let storage: Storage;
let other: DatabaseSync;
beforeEach(async () => {
  path = join(temporaryFolder(), 'service.db');
  clock = testClock();
  storage = await openSqlite(path, { ...clock, sleep: async (ms) => clock.advance(ms) });
  other = new DatabaseSync(path);
});
afterEach(async () => {
  fs.statfsSync = statfsSync;
  syncBuiltinESMExports();
  other.close();
  await storage.close();
});

const keep = (id: string) => sql`insert into operator_audit values (${id}, '', 'jo', 'sign_in', '{}')`;
const kept = () => other.prepare('select id from operator_audit order by 1').all();

describe('check', () => {
  test('makes a real write that changes no row', async () => {
    const before = other.prepare('pragma data_version').get();
    await storage.check();
    expect(other.prepare('pragma data_version').get()).not.toEqual(before);
    expect(kept()).toEqual([]);
  });

  test('throws StorageUnavailable while another process holds the lock or the disk is full', async () => {
    other.exec('begin immediate');
    await expect(storage.check()).rejects.toThrow(StorageUnavailable);
    other.exec('rollback');
    fs.statfsSync = (() => ({ bavail: 1, bsize: 1 })) as unknown as typeof statfsSync;
    syncBuiltinESMExports();
    await expect(storage.check()).rejects.toThrow(/less than 16 MB/);
    expect(storage.requireDiskSpace).toThrow(/less than 16 MB/);
  });
});

test('the SQLite store keeps temporary content in memory once the schema is up to date', async () => {
  const { rows } = await storage.write((tx) => sql`pragma temp_store`.execute(tx));
  expect(rows).toEqual([{ temp_store: 2 }]);
});

test('the SQLite store rejects reads and writes after close', async () => {
  await storage.close();
  const closed = new StorageUnavailable('The store is closed.');
  await expect(storage.read((db) => db.selectFrom('operator_audit').selectAll())).rejects.toThrow(closed);
  await expect(storage.write((tx) => keep('e-1').execute(tx))).rejects.toThrow(closed);
});

test('openSqlite changes neither schema nor rows of a file that has every migration', async () => {
  await storage.write((tx) => keep('e-1').execute(tx));
  const schema = other.prepare('pragma schema_version').get();
  const again = await openSqlite(path, clock);
  expect(await again.read((db) => db.selectFrom('operator_audit').select('id'))).toEqual([{ id: 'e-1' }]);
  expect(other.prepare('pragma schema_version').get()).toEqual(schema);
  await again.close();
});

test('openSqlite throws StorageUnavailable if the file can’t be opened', async () => {
  const folder = temporaryFolder();
  rmSync(folder, { recursive: true });
  await expect(openSqlite(join(folder, 'service.db'), clock)).rejects.toThrow(StorageUnavailable);
});

test('the SQLite store rejects a change of an ended transaction while another transaction runs', async () => {
  const change = {
    change: CompiledQuery.raw(`delete from operator_audit`) as CompiledQuery<never>,
  };
  let late = async () => 0;
  await storage.write(async (tx) => {
    late = () => tx.change(change);
    expect(await tx.change(change)).toBe(0);
  });
  await storage.write(async (tx) => {
    await keep('e-1').execute(tx);
    await expect(late()).rejects.toThrow('The transaction has ended.');
  });
  expect(kept()).toHaveLength(1);
});

test('a write to SQLite runs the second statement only if the first changed a row', async () => {
  const insert = CompiledQuery.raw(`insert into operator_audit values ('second', '', 'jo', 'sign_in', '{}')`);
  const update = CompiledQuery.raw(`update operator_audit set what = 'x'`) as CompiledQuery<never>;
  expect(await storage.write({ change: update, second: insert })).toBe(0);
  expect(kept()).toEqual([]);
  await storage.write((tx) => keep('first').execute(tx));
  expect(await storage.write({ change: update, second: insert })).toBe(1);
  expect(kept()).toHaveLength(2);
});

test('a read from SQLite waits for an open transaction and then returns its committed rows', async () => {
  const end = Promise.withResolvers<void>();
  const writing = storage.write(async (tx) => {
    await keep('e-1').execute(tx);
    await end.promise;
  });
  const begun = async () => {
    while (!isLocked()) await clock.turn();
  };
  await begun();
  const reading = storage.read((db) => db.selectFrom('operator_audit').select('id'));
  end.resolve();
  await writing;
  expect(await reading).toEqual([{ id: 'e-1' }]);

  function isLocked(): boolean {
    try {
      other.exec('begin immediate; rollback');
      return false;
    } catch {
      return true;
    }
  }
});

describe('SQLite dialect', () => {
  test('reads leases from the monotonic clock and schedules from the wall clock', async () => {
    const read = () =>
      storage.read((db) =>
        db.selectNoFrom([storage.dialect.leaseClock.as('lease'), storage.dialect.wallClock.as('wall')]),
      );
    clock.step(1_000);
    expect(await read()).toEqual([{ lease: clock.monotonic(), wall: Date.parse('2026-09-01T12:00:01.000Z') }]);
  });

  test.each([
    [-1_000, 1_000, 1],
    [-1_000, 1_001, 0],
    [-999, 1_000, 0],
    [0, 1, 0],
    // The lease began before the machine restarted.
    [1, 1_000, 1],
  ])('treats a lease that began %i ms from now and lasts %i ms as expired: %i', async (begun, ms, isOver) => {
    const lease = sql`select ${clock.monotonic() + begun} as lease_started_ms, ${ms} as lease_ms`;
    const rows = await storage.read((db) =>
      db.selectFrom(sql<Record<never, never>>`(${lease})`.as('lease')).select(storage.dialect.leaseExpired.as('over')),
    );
    expect(rows).toEqual([{ over: isOver }]);
  });

  test('withoutFields empties only the fields of an event', async () => {
    const event = { type: 'lead.created', data: { id: 'e-1', fields: { email: 'a@b.example' } } };
    const rows = await storage.read((db) =>
      db
        .selectFrom(sql<Record<never, never>>`(select ${JSON.stringify(event)} as event)`.as('row'))
        .select(storage.dialect.withoutFields.as('event')),
    );
    expect(rows.map((row) => JSON.parse(row.event))).toEqual([{ ...event, data: { id: 'e-1', fields: {} } }]);
  });

  test('contains texts in their order, with wildcards as letters', async () => {
    const { contains, constant } = storage.dialect;
    const isMatch = async (email: string, ...texts: string[]) => {
      const rows = await storage.read((db) =>
        db
          .selectFrom(sql<Record<never, never>>`(select ${email} as email)`.as('row'))
          .select('email' as never)
          .where(contains('email', texts)),
      );
      return rows.length === 1;
    };
    for (const email of ['ada', 'x ada@b.example', 'ada\u{10FFFE}']) {
      expect(await isMatch(email, 'ada')).toBe(true);
    }
    for (const email of ['ad', 'adb', 'b', 'ad_', 'ad%a']) {
      expect(await isMatch(email, 'ada')).toBe(false);
    }
    for (const text of ['d%a', '%', '_', '\\']) {
      expect([text, await isMatch('ad%a_\\', text), await isMatch('ada', text)]).toEqual([text, true, false]);
    }
    expect(await isMatch('phone\n123', 'phone', '23')).toBe(true);
    expect(await isMatch('phone\n123', '23', 'phone')).toBe(false);
    expect(await isMatch('phone\n123', 'telephone', '23')).toBe(false);
    const { sql: text } = storage.compile((db) => db.selectNoFrom(constant("it's").as('value')));
    expect(text).toContain("'it''s'");
  });

  test('adds no row locks to a query, and allows no nested changes', () => {
    const { dialect } = storage;
    const { sql: text } = storage.compile((db) =>
      dialect.skipLocked(db.selectFrom('operator_audit').selectAll() as never),
    );
    expect(text).toBe('select * from "operator_audit"');
    expect([storage.kind, dialect.nestsChanges]).toEqual(['sqlite', false]);
  });
});
