/** `npm run inbox`: list, show and export what the embedded destination holds (contract §1). */
import { forms } from '../../forms/catalog.ts';
import { type Storage, StorageUnavailable } from '../../storage/database.ts';
import {
  findInboxItems,
  type InboxFilter,
  inboxPages,
  latestInboxItems,
} from '../../upstream/inbox-reader.ts';
import type { Call } from '../command.ts';
import { runnerOf, unknownName } from '../command-line.ts';
import { loadSettings } from '../configuration.ts';
import { ExitFault, UsageFault } from '../faults.ts';
import { parseMoment } from '../moments.ts';
import { requireDatabase, withStorage } from '../storage.ts';
import { printTable } from '../terminal.ts';
import { csvHeader, csvRecordOf, inboxPage, inboxTable, jsonLineOf } from './formats.ts';

const LIST_ROWS = 20;

/** Said first where the inbox is not what the settings name. */
const ELSEWHERE = {
  http: 'Submissions go to UPSTREAM_URL; here is what came before that.',
  none: 'UPSTREAM_URL is not set, so nothing is accepted; here is what came before that.',
};

const filterOptions = {
  since: { type: 'string', value: 'DATE', meaning: 'received then or later, like 2026-12-01' },
  form: { type: 'string', value: 'NAME', meaning: Object.keys(forms).join(', ') },
} as const;

export const run = runnerOf({
  invocation: 'npm run inbox --',
  meaning: 'What the embedded destination (UPSTREAM_URL=inbox:) holds.',
  examples: [
    'npm run inbox -- list',
    'npm run inbox -- list --form homeowner_quote --limit 100',
    'npm run inbox -- show 0b4f3a52',
    'npm run --silent inbox -- export --format csv --since 2026-12-01 > leads.csv',
  ],
  actions: {
    list: {
      meaning: 'the latest, newest first',
      options: {
        limit: { type: 'string', value: 'N', meaning: `how many (${LIST_ROWS})` },
        ...filterOptions,
      },
      run: list,
    },
    show: {
      meaning: 'one in full; the beginning of its id is enough',
      operands: ['id'],
      run: show,
    },
    export: {
      meaning: 'all of them, oldest first, on standard output',
      options: {
        format: {
          type: 'string',
          value: 'FORMAT',
          meaning: 'csv (safe in a spreadsheet) or jsonl',
        },
        ...filterOptions,
      },
      run: exportAll,
    },
  },
});

async function list(call: Call): Promise<void> {
  const { terminal } = call;
  const limit = limitOf(call.text('limit'));
  const filter = filterOf(call);
  const items = await withInbox(call, (storage) => latestInboxItems(storage, filter, limit));
  if (terminal.json) {
    for (const item of items) await terminal.write(jsonLineOf(item));
    return;
  }
  if (items.length === 0) return terminal.say('There is nothing here yet.');
  printTable(terminal, inboxTable(items));
}

async function show(call: Call): Promise<void> {
  const id = call.operand('id');
  const [item, second] = await withInbox(call, (storage) => findInboxItems(storage, id));
  if (item === undefined) throw new ExitFault('There is nothing with that id; `list` shows them.');
  if (second !== undefined && item.event.data.id !== id) {
    throw new ExitFault('More than one id begins like that: give more of it.');
  }
  if (call.terminal.json) return call.terminal.write(jsonLineOf(item));
  for (const line of inboxPage(item)) call.terminal.print(line);
}

async function exportAll(call: Call): Promise<void> {
  const { terminal } = call;
  const format = call.text('format') ?? (terminal.json ? 'jsonl' : undefined);
  if (format !== 'csv' && format !== 'jsonl') throw new UsageFault('--format is csv or jsonl.');
  const filter = filterOf(call);
  await withInbox(call, async (storage) => {
    if (format === 'csv') await terminal.write(csvHeader);
    for await (const page of inboxPages(storage, filter)) {
      await terminal.write(page.map(format === 'csv' ? csvRecordOf : jsonLineOf).join(''));
    }
  });
}

async function withInbox<T>(call: Call, read: (storage: Storage) => Promise<T>): Promise<T> {
  const { settings } = loadSettings();
  const { database, upstream } = settings;
  requireDatabase(database);
  if (upstream.kind !== 'inbox') call.terminal.say(ELSEWHERE[upstream.kind]);
  try {
    return await withStorage(settings, read);
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    throw new ExitFault(
      `The database can’t be read: ${error.message} Check DATABASE_URL, DATA_DIR and the disk.`,
    );
  }
}

function filterOf(call: Call): InboxFilter {
  const since = call.text('since');
  const form = call.text('form');
  if (form !== undefined && !Object.hasOwn(forms, form)) {
    throw new UsageFault(unknownName(`form ${form}`, form, Object.keys(forms)));
  }
  return { since: since === undefined ? undefined : parseMoment('--since', since), form };
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return LIST_ROWS;
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new UsageFault('--limit is a whole number from 1 to 999999.');
}
