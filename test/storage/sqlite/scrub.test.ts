/** Removal of deleted rows' remains from the files of SQLite. */
import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import type { Storage } from '../../../src/storage/database.ts';
import { isOpenElsewhere, scrubSqlite } from '../../../src/storage/sqlite/file.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';
import { testClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/process.ts';

let path: string;
let storage: Storage;
let other: DatabaseSync;
beforeEach(async () => {
  path = join(temporaryFolder(), 'service.db');
  storage = await openSqlite(path, testClock());
  await storage.check();
  other = new DatabaseSync(path);
});
afterEach(async () => {
  other.close();
  await storage.close();
});

/** Inserts rows that fill many pages. */
async function fill(rows: number) {
  await storage.write(async (tx) => {
    for (let n = 0; n < rows; n += 1) {
      const about = JSON.stringify({ ids: ['x'.repeat(500)] });
      const entry = { id: `e-${n}`, at: `t-${n}`, name: 'n', what: 'w', about };
      await tx.insertInto('operator_audit').values(entry).execute();
    }
  });
}

describe('scrubSqlite', () => {
  test('shrinks the file, empties the log and removes the bytes of deleted rows', async () => {
    await fill(200);
    expect(await storage.scrub()).toBe('clean');
    const before = statSync(path).size;
    await storage.write((tx) => tx.deleteFrom('operator_audit').execute());
    expect(await storage.scrub()).toBe('clean');
    expect(statSync(`${path}-wal`).size).toBe(0);
    expect(statSync(path).size).toBeLessThan(before);
    expect(readFileSync(path, 'latin1')).not.toContain('x'.repeat(500));
  });

  test('does not block the event loop while the file is rewritten', async () => {
    await fill(40_000);
    let worst = 0;
    let last = performance.now();
    const timer = setInterval(() => {
      worst = Math.max(worst, performance.now() - last);
      last = performance.now();
    }, 1);
    const began = performance.now();
    expect(await storage.scrub()).toBe('clean');
    const took = performance.now() - began;
    clearInterval(timer);
    expect(worst).toBeLessThan(took / 2);
  });

  test('returns held if a reader of another process does not end in time', async () => {
    other.exec('begin; select * from operator_audit');
    expect(await scrubSqlite(path, 2)).toBe('held');
  });

  test('returns clean if the reader of another process ends in time', async () => {
    other.exec('begin; select * from operator_audit');
    const scrubbing = storage.scrub();
    await systemClock.sleep(200);
    other.exec('commit');
    expect(await scrubbing).toBe('clean');
  });

  test('returns failed while another process holds the lock, and clean after that', async () => {
    other.exec('begin immediate');
    expect(await storage.scrub()).toBe('failed');
    other.exec('rollback');
    expect(await storage.scrub()).toBe('clean');
  });

  test('returns failed if the file is no database', async () => {
    const file = join(temporaryFolder(), 'other.db');
    writeFileSync(file, 'no database '.repeat(100));
    expect(await scrubSqlite(file)).toBe('failed');
  });

  test('rejects if the thread throws an error that concerns neither the disk nor the lock', async () => {
    await expect(scrubSqlite(7 as never)).rejects.toThrow('path');
  });
});

test('scrubLockMs grows with the size of the file', async () => {
  const small = storage.scrubLockMs();
  expect(small).toBeLessThan(50);
  await fill(4_000);
  await storage.scrub();
  expect(storage.scrubLockMs()).toBeGreaterThan(small);
});

describe('isOpenElsewhere', () => {
  test('returns true while another connection is open, and false after that', async () => {
    expect(isOpenElsewhere(path)).toBe(true);
    other.close();
    expect(isOpenElsewhere(path)).toBe(true);
    await storage.close();
    expect(isOpenElsewhere(path)).toBe(false);
    other = new DatabaseSync(path);
    storage = await openSqlite(path, testClock());
  });
});
