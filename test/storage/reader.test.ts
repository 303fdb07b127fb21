import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { openThreadReader, type Reader } from '../../src/storage/reader.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';

describe('openThreadReader', () => {
  /** The timer of the last read. */
  let timer: { ms: number; run(): void } | undefined;
  /** Number of timers that are not cancelled. */
  let timers = 0;
  const clock = {
    after: (ms: number, run: () => void) => {
      timer = { ms, run };
      timers += 1;
      return () => {
        timer = undefined;
        timers -= 1;
      };
    },
  };
  let folder: string;
  let storage: Storage;
  let reader: Reader;
  const path = () => join(folder, 'service.db');
  const count = async () => {
    const rows = await reader.read((db) => db.selectFrom('submissions').select('id'));
    return rows.length;
  };
  /** Counts the threads that have started. */
  const started = vi.fn();

  beforeEach(async () => {
    started.mockReset();
    timers = 0;
    process.on('worker', started);
    folder = mkdtempSync(join(tmpdir(), 'reader-'));
    storage = await openSqlite(path(), systemClock);
    reader = openThreadReader(storage, { path: path(), clock });
  });
  afterEach(async () => {
    process.off('worker', started);
    await reader.close();
    await storage.close();
    rmSync(folder, { recursive: true });
  });

  test('starts one thread, and only at the first read', async () => {
    expect(started).toHaveBeenCalledTimes(0);
    await Promise.all([count(), count()]);
    await count();
    expect(started).toHaveBeenCalledTimes(1);
  });

  test('sees each commit made before the read', async () => {
    for (let rows = 0; rows < 3; rows += 1) {
      expect(await count()).toBe(rows);
      await keepRows(storage, [submissionRow()]);
    }
  });

  test('returns to each of 50 concurrent reads its own rows', async () => {
    const numbers = Array.from({ length: 50 }, (_, number) => number);
    const read = await Promise.all(
      numbers.map((number) => reader.read((db) => db.selectNoFrom((row) => row.val(number).as('number')))),
    );
    expect(read.map(([row]) => row?.number)).toEqual(numbers);
  });

  test('ends the thread after ten minutes without a read, and starts another thread for the next read', async () => {
    await count();
    const first = timer;
    await count();
    expect(timer).not.toBe(first);
    expect(timer?.ms).toBe(600_000);
    expect(started).toHaveBeenCalledTimes(1);
    timer?.run();
    await count();
    expect(started).toHaveBeenCalledTimes(2);
  });

  test('keeps its second thread when the end of the first one is reported', async () => {
    await count();
    const [first] = started.mock.calls[0] ?? expect.fail();
    const ended = once(first, 'exit');
    timer?.run();
    await count();
    await ended;
    await count();
    expect(started).toHaveBeenCalledTimes(2);
  });

  test('has at most one timer, and none after its close', async () => {
    for (let times = 1; times <= 3; times += 1) {
      await count();
      expect(timers).toBe(1);
    }
    await reader.close();
    expect(timers).toBe(0);
  });

  test('writes nothing', async () => {
    const write = { sql: 'delete from submissions', parameters: [] };
    await keepRows(storage, [submissionRow()]);
    const written = reader.read({ read: write } as never);
    await expect(written).rejects.toMatchObject({
      message: 'A read of SQLite failed.',
      cause: expect.objectContaining({ message: expect.stringMatching(/readonly/) }),
    });
    expect(await count()).toBe(1);
  });

  test('fails all waiting reads after an error, and starts another thread', async () => {
    const wrong = reader.read((db) => db.selectFrom('submissions').select('nothing' as 'id'));
    const behind = count();
    await expect(wrong).rejects.toBeInstanceOf(StorageUnavailable);
    await expect(behind).rejects.toBeInstanceOf(StorageUnavailable);
    expect(await count()).toBe(0);
    expect(started).toHaveBeenCalledTimes(2);
  });

  test('throws StorageUnavailable while the file is damaged', async () => {
    await storage.close();
    writeFileSync(path(), 'x'.repeat(10_000));
    await expect(count()).rejects.toMatchObject({
      name: 'StorageUnavailable',
      cause: expect.objectContaining({ message: expect.stringMatching(/not a database/) }),
    });
  });

  test('rejects reads after close, and does not delete the write-ahead log of the store', async () => {
    await keepRows(storage, [submissionRow()]);
    const last = count();
    await reader.close();
    await expect(last).rejects.toBeInstanceOf(StorageUnavailable);
    await expect(count()).rejects.toThrow('closed');
    await storage.close();
    expect(existsSync(`${path()}-wal`)).toBe(false);
  });
});
