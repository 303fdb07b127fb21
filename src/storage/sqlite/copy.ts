/** Copies an SQLite database beside a running service, examines and restores the copy. */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { systemClock } from '../../platform/clock.ts';
import { StorageUnavailable } from '../database.ts';
import { migrate, migrations, refuseSchema, refuseUnknown } from '../migrate.ts';
import { notRestoredTables } from '../schema.ts';
import { driverOf, kyselyOver, SqliteConnection } from './connection.ts';
import { openFile } from './file.ts';

/** Limit for the wait for a lock of the running service. */
const BUSY_TIMEOUT_MS = 10_000;

/** Longer than a start waits for a lock, so that a start on the replaced file fails with an error. */
const HOLD_MS = 2_500;

const SQLITE_BUSY = 5;

/** Copies the database in one read transaction, durably. */
export function copyTo(file: string, path: string): void {
  const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    // SQLite would create the file with other permissions, but it accepts an empty file.
    closeSync(openSync(file, 'wx', 0o600));
    database.prepare('vacuum into ?').run(file);
  } finally {
    database.close();
  }
  flush(file);
  flush(dirname(file));
}

/** Examines a copy by SQLite's own check, its migrations and its schema. */
export async function examineCopy(file: string): Promise<void> {
  const database = new DatabaseSync(file, { readOnly: true, timeout: BUSY_TIMEOUT_MS });
  try {
    const [row] = database.prepare('pragma integrity_check').all();
    if (row?.integrity_check !== 'ok') throw new StorageUnavailable('The file is damaged.');
    const applied = database.prepare('select name from kysely_migration').all();
    refuseUnknown(applied.map(({ name }) => String(name)));
    await refuseForeignSchema(database, applied.length);
  } catch (error) {
    if (error instanceof StorageUnavailable) throw error;
    throw new StorageUnavailable('The file is damaged, or is not a database of this program.');
  } finally {
    database.close();
  }
}

/** SQLite's own tables contain no code, and its own indexes have no definition. */
const DEFINITIONS = `select type, name, tbl_name, sql from sqlite_schema where name not like 'sqlite\\_%' escape '\\'`;

/** SQL definitions by type and name, such as `table messages`. */
type Definitions = ReadonlyMap<string, string>;

/**
 * Compares the schema of a copy with the schema of its migrations. A foreign trigger would run in every later commit,
 * and a missing column would cause an error at the first request that needs the column.
 * @throws StorageUnavailable
 */
async function refuseForeignSchema(copy: DatabaseSync, migrated: number): Promise<void> {
  const found = definitionsIn(copy);
  const ours = await definitionsAfter(migrated);
  for (const [what, definition] of found) {
    if (!ours.has(what)) refuseSchema(`the ${what} is unknown`);
    if (ours.get(what) !== definition) refuseSchema(`the ${what} is different`);
  }
  for (const what of ours.keys()) {
    if (!found.has(what)) refuseSchema(`the ${what} is missing`);
  }
}

function definitionsIn(database: DatabaseSync): Definitions {
  const rows = database.prepare(DEFINITIONS).all();
  return new Map(
    rows.map(({ type, name, tbl_name, sql }) => {
      // Another version of Kysely may define its own tables differently.
      if (String(name).startsWith('kysely_')) return [`${type} ${name}`, ''];
      // White space has no meaning, and a migration may be indented in another way.
      return [`${type} ${name}`, `${tbl_name} ${sql}`.replaceAll(/\s+/g, ' ')];
    }),
  );
}

async function definitionsAfter(migrated: number): Promise<Definitions> {
  const memory = openFile(':memory:', systemClock);
  const connection = new SqliteConnection(() => memory, systemClock);
  const db = kyselyOver(driverOf(connection));
  try {
    const list = Object.fromEntries(Object.entries(migrations).slice(0, migrated));
    await migrate(db, 'sqlite', { list });
    return definitionsIn(memory);
  } finally {
    await db.destroy();
  }
}

/** Replaces the database with a copy of the file. */
export async function restoreFrom(file: string, path: string): Promise<void> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 });
  const staged = `${path}.restored`;
  rmSync(staged, { force: true });
  try {
    copyTo(staged, file);
    await examineCopy(staged);
    emptyNotRestored(staged);
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

/** Deletes sessions, links and connections, durably. */
function emptyNotRestored(file: string): void {
  const database = new DatabaseSync(file);
  try {
    for (const table of notRestoredTables) database.exec(`delete from ${table}`);
  } finally {
    database.close();
  }
}

/**
 * Opens the database with an exclusive lock, which fails while any other connection is open. A damaged file can't be
 * locked and needs no lock.
 */
function lockAlone(path: string): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    database.exec('pragma locking_mode=exclusive; pragma journal_mode=delete; begin exclusive');
  } catch (error) {
    if (((error as { errcode?: number }).errcode ?? 0) % 256 === SQLITE_BUSY) {
      database.close();
      throw new StorageUnavailable('The service is running on this database. Stop the service first.');
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
