/** Help and errors of `bin/service.js` itself, if its arguments name no command. */
import { UsageFault } from './command-errors.ts';
import { runnerOf } from './command-line.ts';

const descriptions = {
  start: 'Start the service. Its settings come from the environment (see .env.example).',
  credentials: 'Issue, rotate, revoke and list agent credentials',
  inbox: 'List, show, export, resend and dismiss submissions',
  subscribers: 'List and export the subscribers of the newsletter',
  erase: 'Erase everything that is stored about a person, by e-mail address',
  backup: 'Copy the database to a file while the service runs',
  restore: 'Replace the database with a backup',
  settings: 'Print every setting with its value and its source',
  doctor: 'Test the configuration with real requests',
  'verify-receipt': 'Verify a signed receipt, without the database',
  operator: 'Create a sign-in link for the operator console',
  demo: 'Show how an agent and a browser use a running service',
};

export const run = runnerOf({
  invocation: 'npm run',
  description: 'The lead intake and agent action service.',
  examples: ['npm start', 'npm run credentials -- --help', 'npm run doctor -- --no-send'],
  subcommands: Object.fromEntries(
    Object.entries(descriptions).map(([name, description]) => {
      const run = async () => {
        throw new UsageFault(`${name} does not take this argument. See --help.`);
      };
      return [name, { description, run }];
    }),
  ),
});
