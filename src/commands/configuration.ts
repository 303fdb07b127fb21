/** The settings, as a command needs them. */
import { type LoadedEnvironment, loadEnvironment } from '../settings/environment.ts';
import { readSettings, type Settings } from '../settings/settings.ts';
import { SettingsFault } from './faults.ts';

/** Reads the environment and `.env` of this folder; throws `SettingsFault` with a line per fault. */
export function loadSettings(): { settings: Settings; loaded: LoadedEnvironment } {
  const loaded = loadEnvironment(process.cwd());
  const read = readSettings(loaded.environment, loaded.faults);
  if (read.kind === 'invalid') throw new SettingsFault(read.faults.join('\n'));
  return { settings: read.settings, loaded };
}
