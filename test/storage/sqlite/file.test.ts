/** Opening the database file, and the disk space that it requires. */
import fs, { existsSync, lstatSync, readdirSync, readlinkSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { openFile, scrubLockMsOf } from '../../../src/storage/sqlite/file.ts';
import { diskSpaceCheck } from '../../../src/storage/sqlite/store.ts';
import { testClock } from '../../support/clock.ts';
import { temporaryFolder } from '../../support/process.ts';

const { statfsSync } = fs;
afterEach(() => {
  fs.statfsSync = statfsSync;
  syncBuiltinESMExports();
});

/** Returns the paths of the files that this process has open. */
function openFiles(): string[] {
  const links = readdirSync('/proc/self/fd').map((fd) => `/proc/self/fd/${fd}`);
  // The folder itself is no longer open.
  return links.filter((link) => lstatSync(link, { throwIfNoEntry: false })).map((link) => readlinkSync(link));
}

describe('openFile', () => {
  test('sets durable commits and secure delete, and changes the mode to 0600', () => {
    const path = join(temporaryFolder(), 'service.db');
    // Another program or an earlier version may have created the file with this mode.
    writeFileSync(path, '', { mode: 0o644 });
    const database = openFile(path, testClock());
    const pragma = (name: string) => Object.values(database.prepare(`pragma ${name}`).get() ?? {});
    expect(
      ['journal_mode', 'synchronous', 'foreign_keys', 'secure_delete', 'busy_timeout'].map((name) => pragma(name)[0]),
    ).toEqual(['wal', 2, 1, 1, 0]);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    database.close();
  });

  test('makes no temporary file with the earlier content of changed pages', () => {
    const database = openFile(join(temporaryFolder(), 'service.db'), testClock());
    database.exec('create table notes (id integer primary key, text text not null unique)');
    const insert = database.prepare('insert into notes values (?, ?)');
    database.exec('begin');
    for (let id = 0; id < 500; id += 1) insert.run(id, `${id} ${'x'.repeat(500)}`);
    database.exec(`commit; begin; update notes set text = text || 'y' where id >= 0`);
    // SQLite deletes the name of such a file at once, but holds the file open until the commit.
    expect(openFiles().filter((path) => path.includes('etilqs'))).toEqual([]);
    database.exec('commit');
    database.close();
  });

  test('offers the monotonic and the wall clock to SQL', () => {
    const clock = testClock('2026-09-01T12:00:00.250Z');
    const database = openFile(':memory:', clock);
    const read = () => database.prepare('select monotonic_ms() as lease, wall_ms() as wall').get();
    const before = { lease: clock.monotonic(), wall: Date.parse('2026-09-01T12:00:00.250Z') };
    expect(read()).toEqual(before);
    clock.advance(10);
    clock.step(5);
    expect(read()).toEqual({ lease: before.lease + 10, wall: before.wall + 15 });
    database.close();
    expect(existsSync(':memory:')).toBe(false);
  });
});

test('scrubLockMsOf expects 20 ms for each MB of the file', () => {
  const path = join(temporaryFolder(), 'service.db');
  writeFileSync(path, Buffer.alloc(3_000_000));
  expect(scrubLockMsOf(path)).toBe(60);
});

describe('diskSpaceCheck', () => {
  const blocks = 4_096;
  const enough = (16 * 1024 * 1024) / blocks;
  const path = '/some/folder/service.db';
  let free: number;
  let asked: string[];
  const disk = () => {
    asked = [];
    fs.statfsSync = ((of: string) => {
      asked.push(of);
      return { bavail: free, bsize: blocks };
    }) as unknown as typeof statfsSync;
    syncBuiltinESMExports();
  };

  test('throws below 16 MB of free disk space', () => {
    disk();
    const clock = testClock();
    const requireDiskSpace = diskSpaceCheck(path, clock);
    const told = new StorageUnavailable('The disk has less than 16 MB free.');
    free = enough - 1;
    expect(requireDiskSpace).toThrow(told);
    // After a failure, each call checks again, because there may be space.
    expect(requireDiskSpace).toThrow(told);
    free = enough;
    requireDiskSpace();
    expect(asked).toEqual(Array(3).fill(dirname(path)));
  });

  test('checks the disk once within ten milliseconds, and again on the next claim', () => {
    disk();
    free = enough;
    const clock = testClock();
    const requireDiskSpace = diskSpaceCheck(path, clock);
    for (const ms of [0, 9, 1, 9, 1]) {
      clock.advance(ms);
      requireDiskSpace();
    }
    expect(asked).toHaveLength(3);
  });

  test('throws ENOENT if the folder no longer exists', () => {
    const folder = temporaryFolder();
    const requireDiskSpace = diskSpaceCheck(join(folder, 'service.db'), testClock());
    rmSync(folder, { recursive: true });
    expect(requireDiskSpace).toThrow('ENOENT');
  });
});
