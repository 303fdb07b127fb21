/** `npm run subscribers`: lists and exports the subscribers of the newsletter (reference §13.5). */

import { timesIn } from '../console/times.ts';
import { bounds } from '../forms/bounds.ts';
import {
  exportStatuses,
  exportSubscribers,
  type ListedSubscriber,
  listSubscribers,
  shownColumns,
  subscriberFormats,
  subscriberStatuses,
} from '../newsletter/listing.ts';
import { routes } from '../routes.ts';
import { formatOf, formatOption, limitOf, oneOf } from './arguments.ts';
import { UsageFault } from './command-errors.ts';
import { type Call, runnerOf } from './command-line.ts';
import { withConfiguredStorage } from './open-store.ts';
import { printTable, tableOf, writeRecords } from './terminal.ts';

const LIST_ROWS = 20;

const search = { '--search TEXT': 'address, or its beginning' };

export const run = runnerOf({
  invocation: 'npm run subscribers --',
  description: `Lists the people who subscribed with ${routes.subscribeNewsletter.path}. A subscriber is pending, confirmed or unsubscribed. The service deletes pending subscribers after ${bounds.subscriptionLifetimeDays} days.`,
  examples: [
    'npm run subscribers -- list',
    'npm run subscribers -- list --status pending --limit 100',
    'npm run --silent subscribers -- export --format csv > subscribers.csv',
  ],
  subcommands: {
    list: {
      description: 'List the latest subscribers, newest first, or sorted by address with --search',
      options: {
        '--limit N': `maximum number (default: ${LIST_ROWS})`,
        '--status STATUS': subscriberStatuses.join(', '),
        ...search,
      },
      run: list,
    },
    export: {
      description: 'Export confirmed subscribers in the same order to standard output, each with a link to unsubscribe',
      options: {
        ...formatOption,
        '--limit N': 'maximum number (default: all)',
        '--status STATUS': `${exportStatuses.join(', ')} (default: confirmed)`,
        ...search,
      },
      run: exportAll,
    },
  },
});

async function list(call: Call): Promise<void> {
  const { terminal } = call;
  const limit = limitOf(call) ?? LIST_ROWS;
  const filter = { status: oneOf(call, 'status', subscriberStatuses), search: searchOf(call) };
  const { subscribers, next } = await withConfiguredStorage((storage) => listSubscribers(storage, filter, limit));
  if (terminal.json) return terminal.write(subscribers.map(jsonLineOf).join(''));
  if (subscribers.length === 0) {
    const isFiltered = filter.status !== undefined || filter.search !== undefined;
    return terminal.say(isFiltered ? 'Nothing matches.' : 'There are no subscribers yet.');
  }
  const head = shownColumns.map((name) => name.replaceAll('_', ' ').toUpperCase());
  const cells = subscribers.map((subscriber) => shownColumns.map((name) => subscriber[name] ?? ''));
  printTable(terminal, tableOf([head, ...cells]));
  if (next !== undefined) terminal.say(`Showing ${subscribers.length}. Use --limit for more.`);
}

async function exportAll(call: Call): Promise<void> {
  const format = formatOf(call);
  const filter = { status: oneOf(call, 'status', exportStatuses), search: searchOf(call) };
  const limit = limitOf(call);
  await withConfiguredStorage((storage, { baseUrl, operatorTimeZone }) => {
    const formats = subscriberFormats(timesIn(operatorTimeZone).zone);
    return writeRecords(call.terminal, format, formats, exportSubscribers(storage, filter, baseUrl), limit);
  });
}

function searchOf(call: Call): string | undefined {
  const text = call.text('search');
  if (text?.trim() === '') throw new UsageFault('--search must not be blank.');
  return text;
}

function jsonLineOf(subscriber: ListedSubscriber): string {
  return `${JSON.stringify(Object.fromEntries(shownColumns.map((name) => [name, subscriber[name]])))}\n`;
}
