/** `npm run inbox -- list`, `show` and `export` (reference §13.4). */
import { join } from 'node:path';
import { exportPerson } from '../../confirmations/person.ts';
import { timesIn } from '../../console/times.ts';
import { clientsIfReadable } from '../../credentials/edit.ts';
import { messageFilesTo } from '../../mail/erasure.ts';
import { jsonLineOf, submissionFormats } from '../../submissions/read/export.ts';
import { formNames, origins, progresses, type SubmissionFilter, statuses } from '../../submissions/read/filter.ts';
import { findSubmissions, submissionPage, submissionPages } from '../../submissions/read/list.ts';
import { parseSearch } from '../../submissions/read/search.ts';
import { formatOf, limitOf, oneOf, readAddress, timeOf } from '../arguments.ts';
import { ExitFault, UsageFault } from '../command-errors.ts';
import type { Call } from '../command-line.ts';
import { loadSettings, withSubmissions } from '../open-store.ts';
import { printTable, writeRecords } from '../terminal.ts';
import { inboxPage, inboxTable } from './formats.ts';

export const LIST_ROWS = 20;

export const filterOptions = {
  '--progress PROGRESS': progresses.join(', '),
  '--status STATUS': statuses.join(', '),
  '--form NAME': formNames.join(', '),
  '--origin ORIGIN': origins.join(', '),
  '--agent NAME': 'name of the agent client',
  '--since DATE': 'received at this time or later, such as 2026-12-01 (UTC)',
  '--until DATE': 'received before this time',
  '--search TEXT': 'words that all occur in the fields, the reference, or the agent’s name or label',
} as const;

/** Returns the filter of the options. Throws `UsageFault` if an option has an invalid value. */
function filterOf(call: Call): SubmissionFilter {
  const text = call.text('search');
  const search =
    text === undefined ? undefined : parseSearch(text, clientsIfReadable(loadSettings().settings.credentialsFile));
  if (text !== undefined && search === undefined) throw new UsageFault('--search must not be blank.');
  const client = call.text('agent');
  if (client === '') throw new UsageFault('--agent must not be blank.');
  return {
    progress: oneOf(call, 'progress', progresses),
    client,
    status: oneOf(call, 'status', statuses),
    form: oneOf(call, 'form', formNames),
    origin: oneOf(call, 'origin', origins),
    since: timeOf(call, 'since'),
    until: timeOf(call, 'until'),
    search,
  };
}

/** Lists the latest submissions, newest first. */
export async function list(call: Call): Promise<void> {
  const { terminal } = call;
  const limit = limitOf(call) ?? LIST_ROWS;
  const filter = filterOf(call);
  const { items, total } = await withSubmissions(terminal, (storage) => submissionPage(storage, filter, { limit }));
  if (terminal.json) return terminal.write(items.map(jsonLineOf).join(''));
  if (items.length === 0) {
    return terminal.say(isFiltered(filter) ? 'Nothing matches.' : 'There are no submissions yet.');
  }
  printTable(terminal, inboxTable(items));
  const { length } = items;
  const of = total.isMore ? ` of more than ${total.count}` : length < total.count ? ` of ${total.count}` : '';
  const rest = of === '' ? '' : ' Use --limit for more.';
  terminal.say(`Showing ${length}${of}.${rest} For a file, use \`export --format csv\` with the same filters.`);
}

/** Shows one submission in full. */
export async function show(call: Call): Promise<void> {
  const id = call.operand('id');
  const [item, second] = await withSubmissions(call.terminal, (storage) => findSubmissions(storage, id));
  if (item === undefined) throw new ExitFault('No submission has this id. `list` shows all ids.');
  if (second !== undefined) throw new ExitFault('Several ids begin like this. Give more characters.');
  if (call.terminal.json) return call.terminal.write(jsonLineOf(item));
  for (const line of inboxPage(item)) call.terminal.print(line);
}

/** Writes the filtered submissions, oldest first, or everything about one person. */
export async function exportAll(call: Call): Promise<void> {
  const { terminal } = call;
  const given = call.text('email');
  const format = formatOf(call, given === undefined ? undefined : 'jsonl');
  const filter = filterOf(call);
  const limit = limitOf(call);
  const email = given === undefined ? undefined : await readAddress(call, given, '--email is not an e-mail address.');
  const isWhole = limit === undefined && !isFiltered(filter);
  await withSubmissions(terminal, async (storage, { dataDir, operatorTimeZone }) => {
    if (email !== undefined && format === 'jsonl' && isWhole) {
      for await (const { lines } of exportPerson(storage, email)) await terminal.write(lines, format);
      const { length } = await messageFilesTo(join(dataDir, 'mail'), email);
      terminal.say(EVERYTHING + (length === 0 ? '' : messageFiles(length)));
      return;
    }
    const pages = submissionPages(storage, { ...filter, email });
    await writeRecords(terminal, format, submissionFormats(timesIn(operatorTimeZone).zone), pages, limit);
    if (email !== undefined) terminal.say(SUBMISSIONS_ALONE);
  });
}

function isFiltered(filter: SubmissionFilter): boolean {
  return Object.values(filter).some((one) => one !== undefined);
}

const EVERYTHING =
  'This is everything about this person in the database. Receipts contain nothing that was typed into a form.';

const messageFiles = (count: number) =>
  ` Local mode wrote ${count === 1 ? '1 message' : `${count} messages`} to or about this person into the folder DATA_DIR/mail.`;

const SUBMISSIONS_ALONE =
  'This is not everything about this person. With CSV or a filter, the export has submissions only. JSON lines without a filter also have pending confirmations, the newsletter and the number of messages.';
