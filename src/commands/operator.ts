/** `npm run operator`: the way into the operator's console (beyond §7). */
import { systemClock } from '../clock.ts';
import { makeLink, nameOfOperator } from '../console/links.ts';
import { routes } from '../routes.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { Call } from './command.ts';
import { runnerOf } from './command-line.ts';
import { loadSettings } from './configuration.ts';
import { ExitFault, UsageFault } from './faults.ts';
import { requireDatabase, withStorage } from './storage.ts';

export const run = runnerOf({
  invocation: 'npm run operator --',
  meaning: `Who may use the operator’s console at ${routes.operatorPage.path} (OPERATOR_CONSOLE).`,
  examples: [
    'npm run operator -- link --name "Jo Painter"',
    'npm run --silent operator -- link --name jo',
  ],
  actions: {
    link: {
      meaning: 'makes a link that signs in once, within 15 minutes, and prints it',
      options: {
        name: {
          type: 'string',
          value: 'NAME',
          meaning: 'who it is for, as the audit says it: 1 to 80 characters',
        },
      },
      run: link,
    },
  },
});

async function link(call: Call): Promise<void> {
  const { terminal } = call;
  const name = nameOfOperator(call.text('name') ?? '');
  if (name === undefined) throw new UsageFault('--name is 1 to 80 visible characters.');
  const { settings } = loadSettings();
  requireDatabase(settings.database);
  if (settings.operatorConsole === 'off') {
    terminal.say('The console is off: set OPERATOR_CONSOLE=on and start the service anew.');
  }
  const { baseUrl } = settings;
  const now = systemClock.now();
  try {
    const url = await withStorage(settings, (storage) => makeLink(storage, { name, now, baseUrl }));
    terminal.print(terminal.json ? JSON.stringify({ name, url }) : url);
    terminal.say(
      'It signs in once, within 15 minutes. Whoever has it can use it: send it to nobody else.',
    );
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    throw new ExitFault(
      `The database can’t be used: ${error.message} Check DATABASE_URL, DATA_DIR and the disk.`,
    );
  }
}
