/** What `bin/service.js` says where it is given no command, or one that can't be run like that. */
import type { Action, Command } from './command.ts';
import { runCommand } from './command-line.ts';
import { UsageFault } from './faults.ts';

const meanings = {
  start: 'starts the service; its settings are in the environment (see .env.example)',
  credentials: 'issue, rotate, revoke and list agent credentials',
  inbox: 'list, show and export what the embedded destination holds',
  erase: 'erases what is kept of a person, by e-mail address',
  backup: 'copies the database to a file while the service runs',
  restore: 'replaces the database by a backup',
  settings: 'every setting in force and where it came from',
  doctor: 'tries what is configured for real',
  demo: 'drives a running service as an agent and a browser would',
};

const service: Command = {
  invocation: 'node bin/service.js',
  meaning: 'The lead intake and agent action service.',
  examples: ['npm start', 'npm run credentials -- --help', 'npm run doctor'],
  actions: Object.fromEntries(
    Object.entries(meanings).map(([name, meaning]): [string, Action] => [
      name,
      {
        meaning,
        operands: [],
        options: {},
        run: async () => {
          throw new UsageFault(`${name} takes no such argument; see --help.`);
        },
      },
    ]),
  ),
};

/** Takes all arguments of the process, the name of the command included. */
export function run(argv: readonly string[]): Promise<number> {
  return runCommand(service, argv);
}
