/** `npm run subscribers`: lists and exports the subscribers of the newsletter (reference §13.5). */
import { bounds } from '../forms/bounds.ts';
import {
  type ListedSubscriber,
  listSubscribers,
  type SubscriberFilter,
  subscriberPages,
  subscriberStatuses,
} from '../newsletter/listing.ts';
import { routes } from '../routes.ts';
import { csvRecord } from '../submissions/read/export.ts';
import { formatOf, formatOption, limitOf, oneOf } from './arguments.ts';
import { UsageFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { withConfiguredStorage } from './open-store.ts';
import { printTable, tableOf, writeRecords } from './terminal.ts';

const LIST_ROWS = 20;

const filterOptions = {
  '--status STATUS': subscriberStatuses.join(', '),
  '--search TEXT': 'an address, or its beginning',
} as const;

export const run = runnerOf({
  invocation: 'npm run subscribers --',
  description: `Who subscribed with ${routes.subscribeNewsletter.path}: pending until they confirm (erased after ${bounds.subscriptionLifetimeDays} days), confirmed, or unsubscribed.`,
  examples: [
    'npm run subscribers -- list',
    'npm run subscribers -- list --status pending --limit 100',
    'npm run --silent subscribers -- export --status confirmed --format csv > subscribers.csv',
  ],
  subcommands: {
    list: {
      description: 'the latest, newest first; by address where one is looked for',
      options: { '--limit N': `how many (${LIST_ROWS})`, ...filterOptions },
      run: list,
    },
    export: {
      description: 'all of them in that order, on standard output',
      options: { ...formatOption, '--limit N': 'only the first so many', ...filterOptions },
      run: exportAll,
    },
  },
});

/** Columns of the output. The columns never include the id or a token. */
const columns = [
  'email',
  'contractor',
  'status',
  'created_at',
  'consent_recorded_at',
  'confirmed_at',
  'unsubscribed_at',
] as const satisfies readonly (keyof ListedSubscriber)[];

async function list(call: Call): Promise<void> {
  const { terminal } = call;
  const limit = limitOf(call) ?? LIST_ROWS;
  const filter = filterOf(call);
  const { subscribers, next } = await withConfiguredStorage((storage) => listSubscribers(storage, filter, limit));
  if (terminal.json) return terminal.write(subscribers.map(jsonLineOf).join(''));
  if (subscribers.length === 0) return terminal.say('There is nobody here yet.');
  const head = columns.map((name) => name.replaceAll('_', ' ').toUpperCase());
  printTable(terminal, tableOf([head, ...subscribers.map(cellsOf)]));
  if (next !== undefined)
    terminal.say(`${subscribers.length} shown, there are more; --limit shows more, \`export --format csv\` has all.`);
}

async function exportAll(call: Call): Promise<void> {
  const format = formatOf(call);
  const filter = filterOf(call);
  const limit = limitOf(call);
  await withConfiguredStorage((storage) =>
    writeRecords(call.terminal, format, spelling, subscriberPages(storage, filter), limit),
  );
}

function filterOf(call: Call): SubscriberFilter {
  const search = call.text('search');
  if (search?.trim() === '') throw new UsageFault('--search is blank: say what to look for.');
  return { status: oneOf(call, 'status', subscriberStatuses), search };
}

const cellsOf = (subscriber: ListedSubscriber) => columns.map((name) => subscriber[name] ?? '');

function jsonLineOf(subscriber: ListedSubscriber): string {
  return `${JSON.stringify(Object.fromEntries(columns.map((name) => [name, subscriber[name]])))}\n`;
}

const spelling = {
  head: csvRecord(columns),
  csv: (subscriber: ListedSubscriber) => csvRecord(cellsOf(subscriber)),
  jsonl: jsonLineOf,
};
