/** Which store the settings ask for. */
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Settings } from '../settings/settings.ts';
import { type Storage, StorageUnavailable } from './database.ts';
import { makeFolder } from './folder.ts';
import { openSqlite } from './sqlite/store.ts';

/** Takes the settings; returns the opened store, its schema up to date. Throws `StorageUnavailable`. */
export async function openStorage(
  { database }: Settings,
  clock: Clock,
  log?: Log,
): Promise<Storage> {
  if (database.kind === 'postgres') {
    // Loaded only when a setting asks for it: a cold start pays for what it uses.
    const { openPostgres } = await import('./postgres/store.ts');
    return await openPostgres(database.url, log);
  }
  const folder = dirname(database.path);
  try {
    makeFolder(folder);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new StorageUnavailable(`The folder ${folder} can’t be made (${code}).`, { cause: error });
  }
  return await openSqlite(database.path, clock);
}
