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

const keep = (id: string) =>
  sql`insert into inbox values (${id}, 'lead.created', 'contact', 'a@b.example', '', '{}')`;
const kept = () => other.prepare('select event_id from inbox order by 1').all();

describe('readiness', () => {
  test('writes for real, and leaves no trace in the rows', async () => {
    const before = other.prepare('pragma data_version').get();
    await storage.check();
    expect(other.prepare('pragma data_version').get()).not.toEqual(before);
    expect(kept()).toEqual([]);
  });

  test('is away while another process holds the lock, or the disk has no room', async () => {
    other.exec('begin immediate');
    await expect(storage.check()).rejects.toThrow(StorageUnavailable);
    other.exec('rollback');
    fs.statfsSync = (() => ({ bavail: 1, bsize: 1 })) as unknown as typeof statfsSync;
    syncBuiltinESMExports();
    await expect(storage.check()).rejects.toThrow(/less than 16 MB/);
    expect(storage.requireRoom).toThrow(/less than 16 MB/);
  });
});

test('what is closed can be neither read nor written', async () => {
  await storage.close();
  const closed = new StorageUnavailable('The store is closed.');
  await expect(storage.read((db) => db.selectFrom('inbox').selectAll())).rejects.toThrow(closed);
  await expect(storage.write((tx) => keep('e-1').execute(tx))).rejects.toThrow(closed);
});

test('a file that has every migration is opened without one, and keeps its rows', async () => {
  await storage.write((tx) => keep('e-1').execute(tx));
  const schema = other.prepare('pragma schema_version').get();
  const again = await openSqlite(path, clock);
  expect(await again.read((db) => db.selectFrom('inbox').select('event_id'))).toEqual([
    { event_id: 'e-1' },
  ]);
  expect(other.prepare('pragma schema_version').get()).toEqual(schema);
  await again.close();
});

test('a file that can’t be opened makes the store unavailable', async () => {
  const folder = temporaryFolder();
  rmSync(folder, { recursive: true });
  await expect(openSqlite(join(folder, 'service.db'), clock)).rejects.toThrow(StorageUnavailable);
});

test('a change that has ended with its transaction runs in no other', async () => {
  const change = { change: CompiledQuery.raw(`delete from inbox`) as CompiledQuery<never> };
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

test('a second statement is not run where the first changed nothing', async () => {
  const insert = CompiledQuery.raw(
    `insert into inbox values ('second', 'lead.created', 'contact', 'a@b.example', '', '{}')`,
  );
  const update = CompiledQuery.raw(`update inbox set form = 'x'`) as CompiledQuery<never>;
  expect(await storage.write({ change: update, second: insert })).toBe(0);
  expect(kept()).toEqual([]);
  await storage.write((tx) => keep('first').execute(tx));
  expect(await storage.write({ change: update, second: insert })).toBe(1);
  expect(kept()).toHaveLength(2);
});

test('a query reads what is committed, also one that has to wait for a transaction of ours', async () => {
  const end = Promise.withResolvers<void>();
  const writing = storage.write(async (tx) => {
    await keep('e-1').execute(tx);
    await end.promise;
  });
  const begun = async () => {
    while (!isLocked()) await clock.turn();
  };
  await begun();
  const reading = storage.read((db) => db.selectFrom('inbox').select('event_id'));
  end.resolve();
  await writing;
  expect(await reading).toEqual([{ event_id: 'e-1' }]);

  function isLocked(): boolean {
    try {
      other.exec('begin immediate; rollback');
      return false;
    } catch {
      return true;
    }
  }
});

describe('what SQLite says in its own way', () => {
  test('leases go by the monotonic clock, schedules by the wall clock', async () => {
    const read = () =>
      storage.read((db) =>
        db.selectNoFrom([
          storage.dialect.leaseClock.as('lease'),
          storage.dialect.wallClock.as('wall'),
        ]),
      );
    clock.step(1_000);
    expect(await read()).toEqual([
      { lease: clock.monotonic(), wall: Date.parse('2026-09-01T12:00:01.000Z') },
    ]);
  });

  test.each([
    [-1_000, 1_000, 1],
    [-1_000, 1_001, 0],
    [-999, 1_000, 0],
    [0, 1, 0],
    // Before the machine was started anew.
    [1, 1_000, 1],
  ])('a lease that began %i ms from now for %i ms has run out: %i', async (begun, ms, isOver) => {
    const lease = sql`select ${clock.monotonic() + begun} as lease_started_ms, ${ms} as lease_ms`;
    const rows = await storage.read((db) =>
      db
        .selectFrom(sql<Record<never, never>>`(${lease})`.as('lease'))
        .select(storage.dialect.leaseHasRunOut.as('over')),
    );
    expect(rows).toEqual([{ over: isOver }]);
  });

  test('an event without its fields is otherwise the same', async () => {
    const event = { type: 'lead.created', data: { id: 'e-1', fields: { email: 'a@b.example' } } };
    const rows = await storage.read((db) =>
      db
        .selectFrom(sql<Record<never, never>>`(select ${JSON.stringify(event)} as event)`.as('row'))
        .select(storage.dialect.withoutFields.as('event')),
    );
    expect(rows.map((row) => JSON.parse(row.event))).toEqual([
      { ...event, data: { id: 'e-1', fields: {} } },
    ]);
  });

  test('a beginning is compared letter by letter', async () => {
    const { beginsWith, constant } = storage.dialect;
    const begins = async (email: string, text: string) => {
      const rows = await storage.read((db) =>
        db
          .selectFrom(sql<Record<never, never>>`(select ${email} as email)`.as('row'))
          .select('email' as never)
          .where(beginsWith('email', text)),
      );
      return rows.length === 1;
    };
    for (const email of ['ada', 'ada@b.example', 'ada\u{10FFFE}']) {
      expect(await begins(email, 'ada')).toBe(true);
    }
    for (const email of ['ad', 'adb', 'Ada', 'b', 'ad_', 'ad%a', 'Zada']) {
      expect(await begins(email, 'ada')).toBe(false);
    }
    expect(await begins('ad%a', 'ad%')).toBe(true);
    const { sql: text } = storage.compile((db) => db.selectNoFrom(constant("it's").as('value')));
    expect(text).toContain("'it''s'");
  });

  test('no row is locked, and no statement holds two', () => {
    const { dialect } = storage;
    const { sql: text } = storage.compile((db) =>
      dialect.skipLocked(db.selectFrom('inbox').selectAll() as never),
    );
    expect(text).toBe('select * from "inbox"');
    expect([storage.kind, dialect.nestsChanges]).toEqual(['sqlite', false]);
  });
});
