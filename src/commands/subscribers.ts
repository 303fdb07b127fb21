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
  '--search TEXT': 'address, or its beginning',
} as const;

export const run = runnerOf({
  invocation: 'npm run subscribers --',
  description: `Lists the people who subscribed with ${routes.subscribeNewsletter.path}. A subscriber is pending, confirmed or unsubscribed. The service deletes pending subscribers after ${bounds.subscriptionLifetimeDays} days.`,
  examples: [
    'npm run subscribers -- list',
    'npm run subscribers -- list --status pending --limit 100',
    'npm run --silent subscribers -- export --status confirmed --format csv > subscribers.csv',
  ],
  subcommands: {
    list: {
      description: 'List the latest subscribers, newest first, or sorted by address with --search',
      options: { '--limit N': `maximum number (default: ${LIST_ROWS})`, ...filterOptions },
      run: list,
    },
    export: {
      description: 'Export all subscribers in the same order to standard output',
      options: { ...formatOption, '--limit N': 'maximum number (default: all)', ...filterOptions },
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
  if (subscribers.length === 0) return terminal.say('There are no such subscribers.');
  const head = columns.map((name) => name.replaceAll('_', ' ').toUpperCase());
  printTable(terminal, tableOf([head, ...subscribers.map(cellsOf)]));
  if (next !== undefined)
    terminal.say(
      `Showing ${subscribers.length}. Use --limit for more. For all matches, use \`export --format csv\` with the same filters.`,
    );
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
  if (search?.trim() === '') throw new UsageFault('--search must not be blank.');
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
