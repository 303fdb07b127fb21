/** `npm run operator`: prints a sign-in link for the operator console (reference §13.7). */
import { makeLink, nameOfOperator } from '../console/links.ts';
import { systemClock } from '../platform/clock.ts';
import { routes } from '../routes.ts';
import { UsageFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { withConfiguredStorage } from './open-store.ts';

export const run = runnerOf({
  invocation: 'npm run operator --',
  description: `Who may use the operator’s console at ${routes.operatorPage.path} (OPERATOR_CONSOLE).`,
  examples: ['npm run operator -- link --name "Jo Painter"', 'npm run --silent operator -- link --name jo'],
  subcommands: {
    link: {
      description: 'makes a link that signs in once, within 15 minutes, and prints it',
      options: { '--name NAME': 'who it is for, as the audit says it: 1 to 80 characters' },
      run: link,
    },
  },
});

async function link({ terminal, text }: Call): Promise<void> {
  const name = nameOfOperator(text('name') ?? '');
  if (name === undefined)
    throw new UsageFault('--name is one line of 1 to 80 visible characters, with no hidden ones.');
  const url = await withConfiguredStorage((storage, { operatorConsole, baseUrl }) => {
    if (operatorConsole === 'off') {
      terminal.say('The console is off: set OPERATOR_CONSOLE=on and start the service anew.');
    }
    return makeLink(storage, { name, now: systemClock.now(), baseUrl });
  });
  terminal.print(terminal.json ? JSON.stringify({ name, url }) : url);
  terminal.say('It signs in once, within 15 minutes. Whoever has it can use it: send it to nobody else.');
}
