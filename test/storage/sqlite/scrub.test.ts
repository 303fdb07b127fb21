/** Taking out of the files of SQLite what deleted rows left behind in them. */
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import type { Storage } from '../../../src/storage/database.ts';
import { SqliteConnection } from '../../../src/storage/sqlite/connection.ts';
import { driverOf, kyselyOver } from '../../../src/storage/sqlite/kysely.ts';
import { scrubSqlite } from '../../../src/storage/sqlite/scrub.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';
import { testClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/process.ts';

/** As in `src/storage/sqlite/scrub.ts`: how long a reader of another process is waited for. */
const [READER_TRIES, READER_RETRY_MS] = [40, 50];

let path: string;
let storage: Storage;
let other: DatabaseSync;
beforeEach(async () => {
  path = join(temporaryFolder(), 'service.db');
  const clock = testClock();
  storage = await openSqlite(path, { ...clock, sleep: async (ms) => clock.advance(ms) });
  other = new DatabaseSync(path);
});
afterEach(async () => {
  vi.useRealTimers();
  other.close();
  await storage.close();
});

test('an empty log, and a file without what was deleted, are clean', async () => {
  await storage.write(async (tx) => {
    for (let n = 0; n < 200; n += 1) {
      await tx
        .insertInto('inbox')
        .values({
          event_id: `e-${n}`,
          type: 't',
          form: 'f',
          email: 'e',
          received_at: '',
          event: 'x'.repeat(500),
        })
        .execute();
    }
  });
  expect(await storage.scrub()).toBe('clean');
  const before = statSync(path).size;
  await storage.write((tx) => tx.deleteFrom('inbox').execute());
  expect(await storage.scrub()).toBe('clean');
  expect(statSync(`${path}-wal`).size).toBe(0);
  expect(statSync(path).size).toBeLessThan(before);
  expect(readFileSync(path, 'latin1')).not.toContain('x'.repeat(500));
});

test('a reader of another process is waited for two seconds, and then it is held', async () => {
  await storage.check();
  other.exec('begin; select * from inbox');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  let scrubbed: unknown;
  const scrubbing = storage.scrub().then((state) => {
    scrubbed = state;
  });
  await vi.advanceTimersByTimeAsync(READER_TRIES * READER_RETRY_MS - 1);
  expect(scrubbed).toBeUndefined();
  await vi.advanceTimersByTimeAsync(1);
  await scrubbing;
  expect(scrubbed).toBe('held');
});

test('a reader that ends meanwhile leaves it clean', async () => {
  await storage.check();
  other.exec('begin; select * from inbox');
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const scrubbing = storage.scrub();
  await vi.advanceTimersByTimeAsync(READER_RETRY_MS);
  other.exec('commit');
  await vi.advanceTimersByTimeAsync(READER_RETRY_MS);
  expect(await scrubbing).toBe('clean');
});

test('where the file can’t be rewritten it has failed', async () => {
  other.exec('begin immediate');
  expect(await storage.scrub()).toBe('failed');
  other.exec('rollback');
  expect(await storage.scrub()).toBe('clean');
});

test('a mistake of our own is told as it is', async () => {
  const mistaken = new SqliteConnection(() => {
    throw new TypeError('a mistake');
  }, testClock());
  await expect(scrubSqlite(kyselyOver(driverOf(mistaken)))).rejects.toThrow('a mistake');
});
