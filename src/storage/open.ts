/** Which store the settings ask for. */
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Clock } from '../clock.ts';
import type { Log } from '../operations/log.ts';
import type { Settings } from '../settings.ts';
import type { Storage } from './database.ts';
import { openSqlite } from './sqlite.ts';

/** Takes the settings; returns the opened store, its schema up to date. Throws `StorageUnavailable`. */
export async function openStorage(
  { database }: Settings,
  clock: Clock,
  log?: Log,
): Promise<Storage> {
  if (database.kind === 'postgres') {
    // Loaded only when a setting asks for it: a cold start pays for what it uses.
    const { openPostgres } = await import('./postgres.ts');
    return await openPostgres(database.url, log);
  }
  mkdirSync(dirname(database.path), { recursive: true, mode: 0o700 });
  return await openSqlite(database.path, clock);
}
