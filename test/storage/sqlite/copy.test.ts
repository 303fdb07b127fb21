/** Copies of a database file: copying beside the service, examining and restoring. */
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
import { systemClock } from '../../../src/platform/clock.ts';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { copyTo, examineCopy, restoreFrom } from '../../../src/storage/sqlite/copy.ts';
import { openSqlite } from '../../../src/storage/sqlite/store.ts';
import { temporaryFolder } from '../../support/process.ts';

const { fsyncSync } = fs;

/** Same value as `HOLD_MS` in `src/storage/sqlite/copy.ts`. */
const HOLD_MS = 2_500;

let folder: string;
let path: string;
let file: string;
/** Paths that were flushed to disk, in order. */
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

/** Runs a statement on a database file and returns the rows. */
function ask(of: string, sql: string): Record<string, unknown>[] {
  const database = new DatabaseSync(of);
  try {
    return database.prepare(sql).all();
  } finally {
    database.close();
  }
}
const keep = (of: string, id: string) =>
  ask(of, `insert into operator_audit values ('${id}', '', 'jo', 'sign_in', '{}')`);
const kept = (of: string) => ask(of, 'select id from operator_audit order by 1').map((row) => row.id);

/** Restores the copy, and skips the time for which the replaced file is held. */
async function restore(): Promise<void> {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
  const restoring = restoreFrom(file, path);
  await held(restoring);
  vi.advanceTimersByTime(HOLD_MS);
  await restoring;
  vi.useRealTimers();
}

/** Waits until a restore has replaced the file and only holds the old one. */
async function held(restoring: Promise<void>): Promise<void> {
  let isOver = false;
  const over = () => {
    isOver = true;
  };
  void restoring.then(over, over);
  while (!isOver && vi.getTimerCount() === 0) await new Promise((resolve) => setImmediate(resolve));
}

/** Starts a process that lets nobody read the file for 300 ms. Resolves when the lock is held. */
async function lockElsewhere(): Promise<void> {
  const program = `
    const database = new (require('node:sqlite').DatabaseSync)(${JSON.stringify(path)});
    database.exec('pragma locking_mode=exclusive; begin immediate; create table held (x); drop table held; commit');
    console.log('held');
    setTimeout(() => {}, 300);`;
  const child = spawn(process.execPath, ['-e', program], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise((resolve) => child.stdout.once('data', resolve));
}

describe('copyTo', () => {
  test('copies committed rows with mode 0600, and flushes the file and its folder', () => {
    keep(path, 'e-1');
    const running = new DatabaseSync(path);
    running.exec('begin; delete from operator_audit');
    copyTo(file, path);
    running.exec('rollback');
    running.close();
    expect(kept(file)).toEqual(['e-1']);
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(flushed).toEqual([file, join(folder, 'copies')]);
  });

  test('changes neither the database nor its write-ahead log', () => {
    const running = new DatabaseSync(path);
    running.exec(`insert into operator_audit values ('e-1', '', 'jo', 'sign_in', '{}')`);
    // Copies the files as a killed process would leave them.
    const left = join(folder, 'left.db');
    for (const suffix of ['', '-wal']) copyFileSync(path + suffix, left + suffix);
    running.close();
    const before = ['', '-wal'].map((suffix) => readFileSync(left + suffix));
    copyTo(file, left);
    expect(['', '-wal'].map((suffix) => readFileSync(left + suffix))).toEqual(before);
    expect(kept(file)).toEqual(['e-1']);
  });

  test('throws EEXIST if the target exists', () => {
    writeFileSync(file, '');
    expect(() => copyTo(file, path)).toThrow('EEXIST');
  });

  test('waits until another process releases the lock', async () => {
    await lockElsewhere();
    copyTo(file, path);
    await examineCopy(file);
  });
});

describe('examineCopy', () => {
  const newer = 'The database was written by a newer version of this program, so start that version.';
  const foreign = 'The file is damaged, or is not a database of this program.';

  test('accepts a whole copy and changes nothing in its folder', async () => {
    copyTo(file, path);
    const before = readFileSync(file);
    await examineCopy(file);
    expect(readFileSync(file)).toEqual(before);
    expect(readdirSync(join(folder, 'copies'))).toEqual(['copy.db']);
  });

  test.each<[string, string, () => void]>([
    ['is no database', foreign, () => writeFileSync(file, 'no database'.repeat(1_000))],
    ['is another program’s database', foreign, () => ask(file, 'create table other (x)')],
    [
      'was written by a newer version',
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
        // The index loses its definition, the table its row, and the index is declared again.
        database.exec('pragma writable_schema=on');
        const [index] = database
          .prepare(
            `select rowid, * from sqlite_schema where type = 'index' and sql is not null and tbl_name = 'operator_audit'`,
          )
          .all();
        database.prepare('delete from sqlite_schema where rowid = ?').run(index?.rowid ?? 0);
        database.close();
        const without = new DatabaseSync(file, { defensive: false });
        without.exec(`delete from operator_audit; pragma writable_schema=on`);
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
  ])('rejects a copy that %s, and closes it', async (_what, message, spoil) => {
    spoil();
    await expect(examineCopy(file)).rejects.toThrow(new StorageUnavailable(message));
    expect(openFilesOf(file)).toEqual([]);
  });

  test.each([
    ['trigger evil is unknown', 'create trigger evil after insert on submissions begin delete from submissions; end'],
    ['trigger evil is unknown', 'create trigger evil after insert on kysely_migration begin select 1; end'],
    ['view spies is unknown', 'create view spies as select * from submissions'],
    ['view messages is unknown', 'drop table messages; create view messages as select * from submissions'],
    ['table others is unknown', 'create table others (x)'],
    ['index slow is unknown', 'create index slow on submissions (event)'],
    ['table mailbox_key is missing', 'drop table mailbox_key'],
    ['table submissions is different', 'alter table submissions drop column reason'],
    ['table submissions is different', 'alter table submissions add column more text'],
    ['index operator_audit_at is missing', 'drop index operator_audit_at'],
    [
      'index operator_audit_at is different',
      'drop index operator_audit_at; create index operator_audit_at on messages (address)',
    ],
    [
      'index submissions_subscriber is different',
      'drop index submissions_subscriber; create unique index submissions_subscriber on submissions (email)',
    ],
  ])('rejects a copy whose %s, as a restore does', async (what, change) => {
    copyTo(file, path);
    const copy = new DatabaseSync(file);
    copy.exec(change);
    copy.close();
    const sentence = `The schema of the database differs from that of this version: the ${what} (docs/operations.md, "Backup and restore").`;
    await expect(examineCopy(file)).rejects.toThrow(new StorageUnavailable(sentence));
    await expect(restoreFrom(file, path)).rejects.toThrow(new StorageUnavailable(sentence));
    expect(existsSync(`${path}.restored`)).toBe(false);
  });

  test.each([
    ['statistics', 'analyze'],
    ['other white space', 'drop index operator_audit_at; create  index operator_audit_at\n on operator_audit (at, id)'],
    ['the table of another version of Kysely', 'alter table kysely_migration add column more text'],
  ])('accepts a copy whose schema has %s', async (_what, change) => {
    copyTo(file, path);
    const copy = new DatabaseSync(file);
    copy.exec(change);
    copy.close();
    await expect(examineCopy(file)).resolves.toBeUndefined();
  });

  test('throws if the file does not exist, and does not create it', async () => {
    await expect(examineCopy(file)).rejects.toThrow('unable to open database file');
    expect(existsSync(file)).toBe(false);
  });

  test('waits until another process releases the lock', async () => {
    await lockElsewhere();
    await examineCopy(path);
  });
});

describe('restoreFrom', () => {
  test('replaces the database and its logs, and flushes the copy before its name', async () => {
    keep(path, 'e-1');
    copyTo(file, path);
    keep(path, 'e-2');
    for (const suffix of ['-wal', '-shm', '-journal']) writeFileSync(path + suffix, '');
    flushed = [];
    await restore();
    expect(kept(path)).toEqual(['e-1']);
    expect(readdirSync(folder).sort()).toEqual(['copies', 'service.db']);
    expect(statSync(path).mode & 0o777).toBe(0o600);
    // The copy, its temporary name, and its final name.
    expect(flushed).toEqual([`${path}.restored`, folder, folder]);
    expect(openFilesOf(path)).toEqual([]);
  });

  test('creates a missing folder for the owner only', async () => {
    copyTo(file, path);
    path = join(folder, 'new', 'data', 'service.db');
    await restoreFrom(file, path);
    expect(kept(path)).toEqual([]);
    expect(statSync(join(folder, 'new')).mode & 0o777).toBe(0o700);
    expect(readdirSync(join(folder, 'new', 'data'))).toEqual(['service.db']);
  });

  test('deletes sessions, links and connections of hosts in the database, but not in the copy', async () => {
    ask(path, `insert into operator_sessions values ('d', 'jo', 0, '', '', null, null)`);
    ask(path, `insert into operator_links values ('d', 'jo', 0, null, null, '', '9', null)`);
    const columns = 'id, client, client_id, host, redirect_uri, scope, code_digest, code_expires_at, challenge';
    ask(path, `insert into oauth_connections (${columns}) values ('c', '', '', '', '', '', '', '', '')`);
    ask(path, `insert into oauth_access_tokens values ('d', 'c', '', '9')`);
    keep(path, 'e-1');
    copyTo(file, path);
    await restore();
    const emptied = ['operator_sessions', 'operator_links', 'oauth_connections', 'oauth_access_tokens'];
    const left = [...emptied, 'operator_audit'].map((table) => ask(path, `select * from ${table}`).length);
    expect(left).toEqual([0, 0, 0, 0, 1]);
    // The copy stays as is.
    expect(ask(file, 'select * from operator_sessions')).toHaveLength(1);
  });

  test('rejects while the service runs on the database, and leaves it as is', async () => {
    copyTo(file, path);
    keep(path, 'e-1');
    const service = await openSqlite(path, systemClock);
    await expect(restoreFrom(file, path)).rejects.toThrow(
      new StorageUnavailable('The service is running on this database. Stop the service first.'),
    );
    await service.check();
    await service.close();
    expect(kept(path)).toEqual(['e-1']);
    expect(readdirSync(folder).sort()).toEqual(['copies', 'service.db']);
  });

  test('rejects a copy of a newer version, and leaves the database as is', async () => {
    copyTo(file, path);
    keep(path, 'e-1');
    ask(file, `insert into kysely_migration values ('9999-future', '')`);
    await expect(restoreFrom(file, path)).rejects.toThrow(/newer version/);
    expect(kept(path)).toEqual(['e-1']);
    expect(readdirSync(folder).sort()).toEqual(['copies', 'service.db']);
  });

  test('replaces a damaged database and the remains of an unfinished restore', async () => {
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

  test('holds the replaced file for 2.5 s, until a process that just opened it stops waiting', async () => {
    copyTo(file, path);
    const starting = new DatabaseSync(path);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let restored = false;
    const restoring = restoreFrom(file, path).then(() => {
      restored = true;
    });
    await held(restoring);
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

/** Returns the paths with that beginning that this process has open, replaced files included. */
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
