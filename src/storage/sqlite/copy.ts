/** Whole copies of an SQLite database: made beside a running service, looked at, put in its place. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../clock.ts';
import { StorageUnavailable } from '../database.ts';
import { refuseNewer } from '../migrate.ts';

/** How long a lock is waited for where the service has the database open. */
const BUSY_TIMEOUT_MS = 10_000;

/** Longer than a start waits for a lock: one that has opened the replaced file gives up, and says so. */
const HOLD_MS = 2_500;

const SQLITE_BUSY = 5;

/** In one reading transaction; durable. */
export function copyTo(file: string, path: string): void {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // SQLite would make it for everybody, and takes one that is empty.
    closeSync(openSync(file, 'wx', 0o600));
    database.prepare('vacuum into ?').run(file);
  } finally {
    database.close();
  }
  flush(file);
  flush(dirname(file));
}

/** By SQLite's own check, and the list of its migrations. */
export function examineCopy(file: string): void {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const [row] = database.prepare('pragma integrity_check').all();
    if (row?.integrity_check !== 'ok') throw new StorageUnavailable('The file is damaged.');
    const applied = database.prepare('select name from kysely_migration').all();
    refuseNewer(applied.map(({ name }) => String(name)));
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    throw new StorageUnavailable('The file is damaged, or no database of this program.');
  } finally {
    database.close();
  }
}

/** Puts a copy of the file in the place of the database. */
export async function restoreFrom(file: string, path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const staged = `${path}.restored`;
  rmSync(staged, { force: true });
  try {
    copyTo(staged, file);
    examineCopy(staged);
    const replaced = existsSync(path) ? lockAlone(path) : undefined;
    for (const suffix of ['-wal', '-shm', '-journal']) rmSync(path + suffix, { force: true });
    renameSync(staged, path);
    flush(dirname(path));
    if (replaced === undefined) return;
    await systemClock.sleep(HOLD_MS);
    replaced.close();
  } finally {
    rmSync(staged, { force: true });
  }
}

/**
 * The database, locked against everybody. Every connection to a write-ahead log has a shared lock, so
 * it can be left only by who is alone. A damaged file can't be locked, and is worth no lock.
 */
function lockAlone(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('pragma locking_mode=exclusive; pragma journal_mode=delete; begin exclusive');
  } catch (error) {
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) {
      database.close();
      throw new StorageUnavailable('The service is running on this database: stop it first.');
    }
  }
  return database;
}

function flush(path: string): void {
  const descriptor = openSync(path, 'r');
  try {
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}
