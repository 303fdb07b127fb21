/** The store, as the actions of this command need it. */
import type { Settings } from '../../settings/settings.ts';
import type { Storage } from '../../storage/database.ts';
import type { Call } from '../command.ts';
import { withConfiguredStorage } from '../storage.ts';

/** Opens it for `use`; throws `ExitFault` where there is none, or it is away. */
export async function withSubmissions<T>(
  { terminal }: Pick<Call, 'terminal'>,
  use: (storage: Storage, settings: Settings) => Promise<T>,
): Promise<T> {
  return await withConfiguredStorage((storage, settings) => {
    if (settings.upstream.kind === 'none') {
      terminal.say(
        'UPSTREAM_URL is not set, so nothing is accepted; here is what came before that.',
      );
    }
    return use(storage, settings);
  });
}
