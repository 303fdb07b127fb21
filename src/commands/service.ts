/** Help and errors of `bin/service.js` itself, if its arguments name no command. */
import { UsageFault } from './command-errors.ts';
import { runnerOf } from './command-line.ts';

const descriptions = {
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
  description: 'The lead intake and agent action service.',
  examples: ['npm start', 'npm run credentials -- --help', 'npm run doctor'],
  subcommands: Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => {
      const run = async () => {
        throw new UsageFault(`${name} takes no such argument; see --help.`);
      };
      return [name, { description, run }];
    }),
  ),
});
