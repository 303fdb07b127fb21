/** Opens the database that `DATABASE_URL` or `DATA_DIR` names. Loads the functions for backup and restore. */
import { dirname } from 'node:path';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Settings } from '../settings/settings.ts';
import { type Storage, StorageUnavailable } from './database.ts';
import { makeFolder } from './files.ts';
import { openThreadReader, type Reader } from './reader.ts';
import { openSqlite } from './sqlite/store.ts';

/**
 * Opens the store and brings its schema up to date.
 * @throws StorageUnavailable
 */
export async function openStorage({ database }: Settings, clock: Clock, log?: Log): Promise<Storage> {
  if (database.kind === 'postgres') {
    const { openPostgres } = await import('./postgres/store.ts');
    return await openPostgres(database.url, log);
  }
  const folder = dirname(database.path);
  try {
    makeFolder(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StorageUnavailable(`The folder ${folder} can’t be created (${code}).`, { cause: error });
  }
  return await openSqlite(database.path, clock);
}

/** Returns the reader of the console, which connects at its first read. */
export async function openReader({ database }: Settings, storage: Storage, clock: Clock, log: Log): Promise<Reader> {
  if (database.kind === 'sqlite') return openThreadReader(storage, { path: database.path, clock });
  const { openPostgresReader } = await import('./postgres/store.ts');
  return openPostgresReader(database.url, storage, log);
}

/** Functions for whole copies of a database. `place` is the path or the address of the database. */
type Copies = {
  /** Copies everything that is committed, while writers continue. The file has mode 0600. */
  copyTo(file: string, place: string): void | Promise<void>;
  /** Reads a whole copy. Throws if the copy is damaged, newer than the program, or has another schema. */
  examineCopy(file: string): Promise<void>;
  /** Replaces everything in the database, and signs every operator out. Throws if the service uses the database. */
  restoreFrom(file: string, place: string): Promise<void>;
};

/** Loads the functions for this kind of database. */
export async function copiesOf(kind: Storage['kind']): Promise<Copies> {
  return await (kind === 'sqlite' ? import('./sqlite/copy.ts') : import('./postgres/copy.ts'));
}
