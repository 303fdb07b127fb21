/** The store, as the actions of this command need it. */
import type { Settings } from '../../settings/settings.ts';
import { type Storage, StorageUnavailable } from '../../storage/database.ts';
import type { Call } from '../command.ts';
import { loadSettings } from '../configuration.ts';
import { ExitFault } from '../faults.ts';
import { requireDatabase, withStorage } from '../storage.ts';

/** Opens it for `use`; throws `ExitFault` where there is none, or it is away. */
export async function withSubmissions<T>(
  { terminal }: Pick<Call, 'terminal'>,
  use: (storage: Storage, settings: Settings) => Promise<T>,
): Promise<T> {
  const { settings } = loadSettings();
  requireDatabase(settings.database);
  if (settings.upstream.kind === 'none') {
    terminal.say('UPSTREAM_URL is not set, so nothing is accepted; here is what came before that.');
  }
  try {
    return await withStorage(settings, (storage) => use(storage, settings));
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    throw new ExitFault(
      `The database can’t be used: ${error.message} Check DATABASE_URL, DATA_DIR and the disk.`,
    );
  }
}
