/** Submissions as text for people: a table, and a page. */
import type { Attempt } from '../../submissions/attempts.ts';
import type { KeptSubmission } from '../../submissions/listing.ts';
import { isMixedScript } from '../../submissions/mixed-scripts.ts';
import { printable, tableOf } from '../terminal.ts';

/** The narrowest terminal that a table is read in. */
const COLUMNS = 80;
/** Of an id, where `show` takes its beginning: the millisecond that one of version 7 begins with. */
const ID_CHARACTERS = 13;
const NAME_CHARACTERS = 20;
const EMAIL_CHARACTERS = 36;

/** The lines of a table, its head first; under each row, who it is and how their message begins. */
export function inboxTable(items: readonly KeptSubmission[]): string[] {
  const idLength = shortestApart(items.map(({ event }) => event.data.id));
  const rows = items.map(({ receivedAt, status, event: { data } }) => [
    `${receivedAt.slice(0, 16).replace('T', ' ')}Z`,
    data.id.slice(0, idLength),
    status,
    data.form,
    data.client ?? data.origin,
  ]);
  const head = ['RECEIVED', 'ID', 'STATUS', 'FORM', 'FROM'];
  const [first = '', ...lines] = tableOf([head, ...rows.map((row) => row.map(printable))]);
  const whos = items.map(({ event }) => whoAndWhat(event.data.fields));
  const pairs = lines.flatMap((line, index) => [line, `  ${whos[index]}`.trimEnd()]);
  return [first, ...pairs].map((line) => clip(line, COLUMNS));
}

/** How many characters of these ids tell them from each other. */
function shortestApart(ids: readonly string[]): number {
  const isApart = (length: number) =>
    new Set(ids.map((id) => id.slice(0, length))).size === new Set(ids).size;
  let length = ID_CHARACTERS;
  while (!isApart(length)) length += 1;
  return length;
}

function whoAndWhat(fields: Readonly<Record<string, string | undefined>>): string {
  const { name, email = '', postal_code, phone, company, subject, message } = fields;
  const warning = isMixedScript(email) ? ' (mixed scripts)' : '';
  const who = [clip(onOneLine(name), NAME_CHARACTERS), clip(onOneLine(email), EMAIL_CHARACTERS)];
  const rest = [postal_code, phone, company, subject, message].map(onOneLine);
  return [who[0], `${who[1]}${warning}`, ...rest].filter((part) => part !== '').join(', ');
}

function onOneLine(text = ''): string {
  return printable(text.replace(/\s+/g, ' ')).trim();
}

function clip(text: string, maximum: number): string {
  const characters = [...text];
  return characters.length > maximum ? `${characters.slice(0, maximum - 1).join('')}…` : text;
}

/** One event in full, for a person. */
export function inboxPage({ receivedAt, event, ...became }: KeptSubmission): string[] {
  const { data } = event;
  const { status, reason, nextAttemptAt, attempts } = became;
  const rows: [string, string | null | undefined][] = [
    ['id', data.id],
    ['received', receivedAt],
    ['status', reason === null ? status : `${status} (${reason})`],
    ['next attempt', nextAttemptAt],
    ...attempts.map(attemptRow),
    ['type', event.type],
    ['form', data.form],
    ['recipient', data.recipient?.name],
    ['origin', data.origin],
    ['client', data.client],
    ['consent recorded', data.consent_recorded_at],
    ...Object.entries(data.fields),
    ['warning', isMixedScript(data.fields.email) ? 'the e-mail domain mixes scripts' : undefined],
  ];
  // A value of several lines stays readable: each line is indented, and clean by itself.
  return rows
    .filter((row): row is [string, string] => row[1] !== null && row[1] !== undefined)
    .map(([name, value]) => {
      const lines = value.split('\n').map(printable);
      return `${printable(name).padEnd(18)}${lines.join(`\n${' '.repeat(18)}`)}`;
    });
}

function attemptRow({ at, ms, outcome, by }: Attempt): [string, string] {
  return ['attempt', `${at}  ${outcome} after ${ms} ms (${by})`];
}
