/** The store, as a command needs it: opened, used, and closed again. */
import { systemClock } from '../clock.ts';
import { openLog } from '../operations/log.ts';
import type { Settings } from '../settings/settings.ts';
import type { Storage } from '../storage/database.ts';
import { openStorage } from '../storage/open.ts';

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
