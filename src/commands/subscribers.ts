/** `npm run subscribers`: who was asked, has confirmed and has left, to see and to export (beyond §6). */
import { bounds } from '../forms/bounds.ts';
import {
  type ListedSubscriber,
  listSubscribers,
  type SubscriberFilter,
  subscriberPages,
  subscriberStatuses,
} from '../newsletter/listing.ts';
import { routes } from '../routes.ts';
import { csvRecord } from '../submissions/csv.ts';
import type { Call } from './command.ts';
import { runnerOf } from './command-line.ts';
import { UsageFault } from './faults.ts';
import { limitOf, oneOf } from './inbox/filters.ts';
import { withConfiguredStorage } from './storage.ts';
import { printable, printTable, tableOf } from './terminal.ts';

const LIST_ROWS = 20;

const filterOptions = {
  status: { type: 'string', value: 'STATUS', meaning: subscriberStatuses.join(', ') },
  search: { type: 'string', value: 'TEXT', meaning: 'an address, or its beginning' },
} as const;

export const run = runnerOf({
  invocation: 'npm run subscribers --',
  meaning: `Who subscribed with ${routes.subscribeNewsletter.path}: pending until they confirm (erased after ${bounds.subscriptionLifetimeDays} days), confirmed, or unsubscribed.`,
  examples: [
    'npm run subscribers -- list',
    'npm run subscribers -- list --status pending --limit 100',
    'npm run --silent subscribers -- export --status confirmed --format csv > subscribers.csv',
  ],
  actions: {
    list: {
      meaning: 'the latest, newest first; by address where one is looked for',
      options: {
        limit: { type: 'string', value: 'N', meaning: `how many (${LIST_ROWS})` },
        ...filterOptions,
      },
      run: list,
    },
    export: {
      meaning: 'all of them in that order, on standard output',
      options: {
        format: {
          type: 'string',
          value: 'FORMAT',
          meaning: 'csv (safe in a spreadsheet) or jsonl',
        },
        limit: { type: 'string', value: 'N', meaning: 'only the first so many' },
        ...filterOptions,
      },
      run: exportAll,
    },
  },
});

/** What is told of each: no id, and never a token. */
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
  const { subscribers, next } = await withConfiguredStorage((storage) =>
    listSubscribers(storage, filter, limit),
  );
  if (terminal.json) return terminal.write(subscribers.map(jsonLineOf).join(''));
  if (subscribers.length === 0) return terminal.say('There is nobody here yet.');
  const head = columns.map((name) => name.replaceAll('_', ' ').toUpperCase());
  printTable(terminal, tableOf([head, ...subscribers.map((one) => cellsOf(one).map(printable))]));
  if (next !== undefined)
    terminal.say(
      `${subscribers.length} shown, there are more; --limit shows more, \`export --format csv\` has all.`,
    );
}

async function exportAll(call: Call): Promise<void> {
  const { terminal } = call;
  const format = call.text('format') ?? (terminal.json ? 'jsonl' : undefined);
  if (format !== 'csv' && format !== 'jsonl') throw new UsageFault('--format is csv or jsonl.');
  const filter = filterOf(call);
  let left = limitOf(call) ?? Number.POSITIVE_INFINITY;
  await withConfiguredStorage(async (storage) => {
    if (format === 'csv') await terminal.write(csvRecord(columns));
    for await (const page of subscriberPages(storage, filter)) {
      const shown = page.slice(0, left).map(format === 'csv' ? csvRecordOf : jsonLineOf);
      await terminal.write(shown.join(''));
      left -= page.length;
      if (left <= 0) return;
    }
  });
}

function filterOf(call: Call): SubscriberFilter {
  const search = call.text('search');
  if (search?.trim() === '') throw new UsageFault('--search is blank: say what to look for.');
  return { status: oneOf(call, 'status', subscriberStatuses), search };
}

const cellsOf = (subscriber: ListedSubscriber) => columns.map((name) => subscriber[name] ?? '');

const csvRecordOf = (subscriber: ListedSubscriber) => csvRecord(cellsOf(subscriber));

function jsonLineOf(subscriber: ListedSubscriber): string {
  return `${JSON.stringify(Object.fromEntries(columns.map((name) => [name, subscriber[name]])))}\n`;
}
