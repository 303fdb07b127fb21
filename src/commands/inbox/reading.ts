/** `npm run inbox -- list`, `show` and `export` (beyond §1, "The operator"). */
import { systemClock } from '../../clock.ts';
import type { Storage } from '../../storage/database.ts';
import {
  findSubmissions,
  type KeptSubmission,
  submissionPage,
  submissionPages,
  type Total,
} from '../../submissions/listing.ts';
import type { SubmissionFilter } from '../../submissions/listing-queries.ts';
import { csvHeader, csvRecordOf, jsonLineOf } from '../../submissions/records.ts';
import { addressAsStored } from '../addresses.ts';
import type { Call } from '../command.ts';
import { ExitFault, UsageFault } from '../faults.ts';
import { printTable } from '../terminal.ts';
import { filterOf, limitOf } from './filters.ts';
import { inboxPage, inboxTable } from './formats.ts';
import { withSubmissions } from './store.ts';

export const LIST_ROWS = 20;

/** The latest, newest first. */
export async function list(call: Call): Promise<void> {
  const { terminal } = call;
  const limit = limitOf(call) ?? LIST_ROWS;
  const filter = filterOf(call);
  const { items, total } = await withSubmissions(call, (storage) =>
    submissionPage({ storage, clock: systemClock }, filter, { limit }),
  );
  if (terminal.json) return terminal.write(items.map(jsonLineOf).join(''));
  if (items.length === 0) return terminal.say('There is nothing here yet.');
  printTable(terminal, inboxTable(items));
  terminal.say(
    `${shownOf(items.length, total)}; \`export --format csv\` has all, by the same filters.`,
  );
}

function shownOf(shown: number, { isMore, count }: Total): string {
  if (isMore) return `${shown} of more than ${count} shown`;
  return shown < count ? `${shown} of ${count} shown` : `${shown} shown`;
}

/** One in full. */
export async function show(call: Call): Promise<void> {
  const id = call.operand('id');
  const [item, second] = await withSubmissions(call, (storage) => findSubmissions({ storage }, id));
  if (item === undefined) throw new ExitFault('There is nothing with that id; `list` shows them.');
  if (second !== undefined) {
    throw new ExitFault('More than one id begins like that: give more of it.');
  }
  if (call.terminal.json) return call.terminal.write(jsonLineOf(item));
  for (const line of inboxPage(item)) call.terminal.print(line);
}

/** All of what is filtered, oldest first. */
export async function exportAll(call: Call): Promise<void> {
  const { terminal } = call;
  const isOfOne = call.text('email') !== undefined;
  const format = call.text('format') ?? (terminal.json || isOfOne ? 'jsonl' : undefined);
  if (format !== 'csv' && format !== 'jsonl') throw new UsageFault('--format is csv or jsonl.');
  const filter = { ...filterOf(call), email: await emailOf(call) };
  const limit = limitOf(call) ?? Number.POSITIVE_INFINITY;
  await withSubmissions(call, async (storage) => {
    if (format === 'csv') await terminal.write(csvHeader);
    for await (const page of upTo(limit, storage, filter)) {
      await terminal.write(page.map(format === 'csv' ? csvRecordOf : jsonLineOf).join(''));
    }
  });
  if (isOfOne) terminal.say(BESIDES);
}

const BESIDES =
  'Besides, there may be a confirmation message of theirs: `npm run erase -- - --dry-run` counts it. Receipts hold nothing that was typed into a form.';

async function* upTo(
  limit: number,
  storage: Storage,
  filter: SubmissionFilter,
): AsyncGenerator<KeptSubmission[]> {
  let left = limit;
  for await (const page of submissionPages({ storage, clock: systemClock }, filter)) {
    yield page.slice(0, left);
    left -= page.length;
    if (left <= 0) return;
  }
}

async function emailOf({ terminal, text }: Call): Promise<string | undefined> {
  const given = text('email');
  if (given === undefined) return undefined;
  const email = addressAsStored(given === '-' ? await terminal.readLine('E-mail address:') : given);
  // Not repeated: standard error may end in a log.
  if (email === undefined) throw new UsageFault('--email is not an e-mail address.');
  return email;
}
