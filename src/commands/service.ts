/** What `bin/service.js` says where it is given no command, or one that can't be run like that. */
import { runnerOf } from './command-line.ts';
import { UsageFault } from './faults.ts';

const meanings = {
  start: 'starts the service; its settings are in the environment (see .env.example)',
  credentials: 'issue, rotate, revoke and list agent credentials',
  inbox: 'list, show and export submissions, send them again, put them away',
  subscribers: 'list and export the subscribers of the newsletter',
  erase: 'erases what is kept of a person, by e-mail address',
  backup: 'copies the database to a file while the service runs',
  restore: 'replaces the database by a backup',
  settings: 'every setting in force and where it came from',
  doctor: 'tries what is configured for real',
  'verify-receipt': 'verifies a signed receipt, without the database',
  operator: 'makes the link by which an operator signs in to the console',
  demo: 'drives a running service as an agent and a browser would',
};

export const run = runnerOf({
  invocation: 'node bin/service.js',
  meaning: 'The lead intake and agent action service.',
  examples: ['npm start', 'npm run credentials -- --help', 'npm run doctor'],
  actions: Object.fromEntries(
    Object.entries(meanings).map(([name, meaning]) => {
      const run = async () => {
        throw new UsageFault(`${name} takes no such argument; see --help.`);
      };
      return [name, { meaning, run }];
    }),
  ),
});
