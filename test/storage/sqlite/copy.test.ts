/** Copies of a database file: made beside the service, looked at, and put in its place. */
import { spawn } from 'node:child_process';
import fs, {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { copyTo, examineCopy, restoreFrom } from '../../../src/storage/sqlite/copy.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';
import { temporaryFolder } from '../../support/process.ts';

const { fsyncSync } = fs;

/** As `HOLD_MS` in `src/storage/sqlite/copy.ts`. */
const HOLD_MS = 2_500;

let folder: string;
let path: string;
let file: string;
/** What was made durable, in this order. */
let flushed: string[];

beforeEach(async () => {
  folder = temporaryFolder();
  [path, file] = [join(folder, 'service.db'), join(folder, 'copies', 'copy.db')];
  mkdirSync(join(folder, 'copies'));
  await (await openSqlite(path, systemClock)).close();
  flushed = [];
  fs.fsyncSync = (descriptor) => {
    flushed.push(readlinkSync(`/proc/self/fd/${descriptor}`));
    fsyncSync(descriptor);
  };
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.useRealTimers();
  fs.fsyncSync = fsyncSync;
  syncBuiltinESMExports();
});

/** Runs a statement on a database file; returns the rows. */
function ask(of: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(of);
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}
const keep = (of: string, id: string) =>
  ask(of, `insert into inbox values ('${id}', 'lead.created', 'contact', 'a@b.example', '', '{}')`);
const kept = (of: string) =>
  ask(of, 'select event_id from inbox order by 1').map((row) => row.event_id);

/** Puts a copy in the place of the database, without waiting for the time it is held. */
async function restore(): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const restoring = restoreFrom(file, path);
  vi.advanceTimersByTime(HOLD_MS);
  await restoring;
  vi.useRealTimers();
}

/** Another process that lets nobody read the file, for a third of a second; resolves when it does. */
async function lockElsewhere(): Promise<void> {
  const program = `
    const database = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)});
    database.exec('pragma locking_mode=exclusive; begin immediate; create table held (x); commit');
    console.log('held');
    setTimeout(() => {}, 300);`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
}

describe('a copy', () => {
  test('holds what is committed, is for the owner alone and durable, with its name', () => {
    keep(path, 'e-1');
    const running = new DatabaseSync(path);
    running.exec('begin; delete from inbox');
    copyTo(file, path);
    running.exec('rollback');
    running.close();
    expect(kept(file)).toEqual(['e-1']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(flushed).toEqual([file, join(folder, 'copies')]);
  });

  test('is made by reading alone: the database and its log stay as they are', () => {
    const running = new DatabaseSync(path);
    running.exec(`insert into inbox values ('e-1', 't', 'f', 'e', '', '{}')`);
    // As a process leaves them that was killed.
    const left = join(folder, 'left.db');
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, left + suffix);
    running.close();
    const before = ['', '-wal'].map((suffix) => readFileSync(left + suffix));
    copyTo(file, left);
    expect(['', '-wal'].map((suffix) => readFileSync(left + suffix))).toEqual(before);
    expect(kept(file)).toEqual(['e-1']);
  });

  test('takes the place of no other file', () => {
    writeFileSync(file, '');
    expect(() => copyTo(file, path)).toThrow('EEXIST');
  });

  test('waits for a lock', async () => {
    await lockElsewhere();
    copyTo(file, path);
    examineCopy(file);
  });
});

describe('looking at a copy', () => {
  const newer = 'The database was written by a newer version of this program; start that version.';
  const foreign = 'The file is damaged, or no database of this program.';

  test('finds nothing in one that is whole, and changes nothing in it', () => {
    copyTo(file, path);
    const before = readFileSync(file);
    examineCopy(file);
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(join(folder, 'copies'))).toEqual(['copy.db']);
  });

  test.each<[string, string, () => void]>([
    ['is no database', foreign, () => writeFileSync(file, 'no database'.repeat(1_000))],
    ['is another program’s', foreign, () => ask(file, 'create table other (x)')],
    [
      'is of a newer version',
      newer,
      () => {
        copyTo(file, path);
        ask(file, `insert into kysely_migration values ('9999-future', '')`);
      },
    ],
    [
      'has an index that lacks a row',
      'The file is damaged.',
      () => {
        keep(path, 'e-1');
        copyTo(file, path);
        const database = new DatabaseSync(file, { defensive: false });
        // The index loses its definition, then its row, and is declared anew.
        database.exec('pragma writable_schema=on');
        const [index] = database
          .prepare(
            `select rowid, * from sqlite_schema where type = 'index' and sql is not null and tbl_name = 'inbox'`,
          )
          .all();
        database.prepare('delete from sqlite_schema where rowid = ?').run(index?.rowid ?? 0);
        database.close();
        const without = new DatabaseSync(file, { defensive: false });
        without.exec(`delete from inbox; pragma writable_schema=on`);
        without
          .prepare('insert into sqlite_schema values (?, ?, ?, ?, ?)')
          .run(
            ...['type', 'name', 'tbl_name', 'rootpage', 'sql'].map(
              (name) => (index?.[name] ?? null) as string | number | null,
            ),
          );
        without.close();
      },
    ],
  ])('one that %s is refused', (_what, message, spoil) => {
    spoil();
    expect(() => examineCopy(file)).toThrow(new StorageUnavailable(message));
    expect(openFilesOf(file)).toEqual([]);
  });

  test('one that is not there is a fault of its own', () => {
    expect(() => examineCopy(file)).toThrow('unable to open database file');
    expect(existsSync(file)).toBe(false);
  });

  test('waits for a lock', async () => {
    await lockElsewhere();
    examineCopy(path);
  });
});

describe('a restore', () => {
  test('replaces everything: nothing of what was there is left, its log included', async () => {
    keep(path, 'e-1');
    copyTo(file, path);
    keep(path, 'e-2');
    for (const suffix of ['-wal', '-shm', '-journal']) writeFileSync(path + suffix, '');
    flushed = [];
    await restore();
    expect(kept(path)).toEqual(['e-1']);
    expect(readdirSync(folder).sort()).toEqual(['copies', 'service.db']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    // The copy and its name, then the name that it has at last.
    expect(flushed).toEqual([`${path}.restored`, folder, folder]);
    expect(openFilesOf(path)).toEqual([]);
  });

  test('makes the folder for its owner alone where there is no database yet, and holds nothing', async () => {
    copyTo(file, path);
    path = join(folder, 'new', 'data', 'service.db');
    await restoreFrom(file, path);
    expect(kept(path)).toEqual([]);
    expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, 'new', 'data'))).toEqual(['service.db']);
  });

  test('is refused while the service runs on the database, which it leaves as it is', async () => {
    copyTo(file, path);
    keep(path, 'e-1');
    const service = await openSqlite(path, systemClock);
    await expect(restoreFrom(file, path)).rejects.toThrow(
      new StorageUnavailable('The service is running on this database: stop it first.'),
    );
    await service.check();
    await service.close();
    expect(kept(path)).toEqual(['e-1']);
    expect(readdirSync(folder).sort()).toEqual(['copies', 'service.db']);
  });

  test('puts nothing in its place that is damaged or newer', async () => {
    copyTo(file, path);
    keep(path, 'e-1');
    ask(file, `insert into kysely_migration values ('9999-future', '')`);
    await expect(restoreFrom(file, path)).rejects.toThrow(/newer version/);
    expect(kept(path)).toEqual(['e-1']);
    expect(readdirSync(folder).sort()).toEqual(['copies', 'service.db']);
  });

  test('takes the place of a damaged database, and of what an earlier one left half done', async () => {
    keep(path, 'e-1');
    copyTo(file, path);
    writeFileSync(path, 'damaged'.repeat(1_000));
    for (const suffix of ['.restored', '-wal', '-shm', '-journal']) {
      writeFileSync(path + suffix, 'half');
    }
    await restore();
    expect(readdirSync(folder).sort()).toEqual(['copies', 'service.db']);
    expect(kept(path)).toEqual(['e-1']);
  });

  test('holds what it replaced until whoever had just opened that has given up', async () => {
    copyTo(file, path);
    const starting = new DatabaseSync(path);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let restored = false;
    const restoring = restoreFrom(file, path).then(() => {
      restored = true;
    });
    expect(existsSync(`${path}.restored`)).toBe(false);
    expect(() => starting.exec('begin immediate')).toThrow('locked');
    await vi.advanceTimersByTimeAsync(HOLD_MS - 1);
    expect(restored).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await restoring;
    starting.close();
    expect(openFilesOf(path)).toEqual([]);
  });
});

/** What this process has open of a file, replaced ones included. */
function openFilesOf(of: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((descriptor) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${descriptor}`);
      return target.startsWith(of) ? [target] : [];
    } catch {
      return [];
    }
  });
}
