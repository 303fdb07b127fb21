/** `npm run operator`: prints a sign-in link for the operator console (reference §13.7). */
import { makeLink, nameOfOperator } from '../console/links.ts';
import { systemClock } from '../platform/clock.ts';
import { routes } from '../routes.ts';
import { UsageFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { withConfiguredStorage } from './open-store.ts';

export const run = runnerOf({
  invocation: 'npm run operator --',
  description: `Creates sign-in links for the operator console at ${routes.operatorPage.path} (OPERATOR_CONSOLE).`,
  examples: ['npm run operator -- link --name "Jo Painter"', 'npm run --silent operator -- link --name jo'],
  subcommands: {
    link: {
      description: 'Print a sign-in link that works once, within 15 minutes',
      options: { '--name NAME': 'name of the operator in the audit: 1 to 80 characters' },
      run: link,
    },
  },
});

async function link({ terminal, text }: Call): Promise<void> {
  const name = nameOfOperator(text('name') ?? '');
  if (name === undefined)
    throw new UsageFault('--name must be one line of 1 to 80 visible characters, without hidden characters.');
  const url = await withConfiguredStorage((storage, { operatorConsole, baseUrl }) => {
    if (operatorConsole === 'off') {
      terminal.say('The console is off. Set OPERATOR_CONSOLE=on and restart the service.');
    }
    return makeLink(storage, { name, now: systemClock.now(), baseUrl });
  });
  terminal.print(terminal.json ? JSON.stringify({ name, url }) : url);
  terminal.say(
    'This link works once, within 15 minutes. Anybody who has the link can use it, so share it with nobody else.',
  );
}
