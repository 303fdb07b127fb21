/** Settings and store of a command. */
import { existsSync } from 'node:fs';
import { systemClock } from '../platform/clock.ts';
import { openLog } from '../platform/log.ts';
import { type LoadedEnvironment, loadEnvironment } from '../settings/environment.ts';
import { readSettings, type Settings } from '../settings/settings.ts';
import { databaseFault } from '../start/start-errors.ts';
import { type Storage, StorageUnavailable } from '../storage/database.ts';
import { openStorage } from '../storage/open.ts';
import { ExitFault, SettingsFault } from './command-errors.ts';
import type { Terminal } from './terminal.ts';

/** Reads the environment and the `.env` of the current folder. Throws `SettingsFault` with one line for each fault. */
export function loadSettings(): { settings: Settings; loaded: LoadedEnvironment } {
  const loaded = loadEnvironment(process.cwd());
  const read = readSettings(loaded.environment, loaded.faults);
  if (read.kind === 'invalid') throw new SettingsFault(read.faults);
  return { settings: read.settings, loaded };
}

/** Returns false if opening the store would make an empty database. A server's database is assumed to exist. */
export function isDatabaseThere(database: Settings['database']): boolean {
  return database.kind === 'postgres' || existsSync(database.path);
}

/** Throws `ExitFault` if there is no database yet. */
export function requireDatabase(database: Settings['database']): void {
  if (isDatabaseThere(database)) return;
  throw new ExitFault(`There is no database yet at ${placeOf(database)}. \`npm start\` creates it.`);
}

/** Returns the path of the database's file, or the address of its server. */
export function placeOf(database: Settings['database']): string {
  return database.kind === 'sqlite' ? database.path : database.url;
}

/** Opens the store for `use` and closes it. Throws `StorageUnavailable` if it can't be opened. */
export async function withStorage<T>(settings: Settings, use: (storage: Storage) => Promise<T>): Promise<T> {
  // Stdout is for data, so nothing is logged. The thrown error has the same information.
  const storage = await openStorage(settings, systemClock, openLog('silent'));
  try {
    return await use(storage);
  } finally {
    await storage.close();
  }
}

/** Opens the configured store for `use`. Throws `ExitFault` if there is no database yet, or if it is unavailable. */
export async function withConfiguredStorage<T>(use: (storage: Storage, settings: Settings) => Promise<T>): Promise<T> {
  const { settings } = loadSettings();
  requireDatabase(settings.database);
  try {
    return await withStorage(settings, (storage) => use(storage, settings));
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    throw new ExitFault(databaseFault(error, settings));
  }
}

/**
 * Opens the configured store for a command about submissions, and prints a message if the service accepts no
 * submissions.
 */
export function withSubmissions<T>(
  terminal: Terminal,
  use: (storage: Storage, settings: Settings) => Promise<T>,
): Promise<T> {
  return withConfiguredStorage((storage, settings) => {
    if (settings.upstream.kind === 'none') {
      terminal.say(
        'UPSTREAM_URL is not set, so the service accepts no submissions. This command works on earlier ones.',
      );
    }
    return use(storage, settings);
  });
}
