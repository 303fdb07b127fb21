/** The store, as a command needs it: opened, used, and closed again. */
import { existsSync } from 'node:fs';
import { systemClock } from '../clock.ts';
import { openLog } from '../operations/log.ts';
import type { Settings } from '../settings/settings.ts';
import { type Storage, StorageUnavailable } from '../storage/database.ts';
import { openStorage } from '../storage/open.ts';
import { loadSettings } from './configuration.ts';
import { ExitFault } from './faults.ts';

/** Whether there is a database: opening it would make an empty one. A server is asked when it is opened. */
export function isDatabaseThere(database: Settings['database']): boolean {
  return database.kind === 'postgres' || existsSync(database.path);
}

/** Throws where there is none yet. */
export function requireDatabase(database: Settings['database']): void {
  if (database.kind === 'postgres' || isDatabaseThere(database)) return;
  throw new ExitFault(`There is no database yet at ${database.path}: \`npm start\` makes it.`);
}

/** Where it is: the path of its file, or the address of its server. */
export function placeOf(database: Settings['database']): string {
  return database.kind === 'sqlite' ? database.path : database.url;
}

/** Opens the store and hands it to `use`; throws what opening throws (`StorageUnavailable`). */
export async function withStorage<T>(
  settings: Settings,
  use: (storage: Storage) => Promise<T>,
): Promise<T> {
  // Standard output is for data: what would be logged is in the error that is thrown as well.
  const storage = await openStorage(settings, systemClock, openLog('silent'));
  try {
    return await use(storage);
  } finally {
    await storage.close();
  }
}

/** Opens the one that is configured for `use`; throws `ExitFault` where there is none yet, or it is away. */
export async function withConfiguredStorage<T>(
  use: (storage: Storage, settings: Settings) => Promise<T>,
): Promise<T> {
  const { settings } = loadSettings();
  requireDatabase(settings.database);
  try {
    return await withStorage(settings, (storage) => use(storage, settings));
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    throw new ExitFault(
      `The database can’t be used: ${error.message} Check DATABASE_URL, DATA_DIR and the disk.`,
    );
  }
}
