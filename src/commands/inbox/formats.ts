/** Submissions as text: CSV and JSON lines for programs, a table and a page for people. */
import { domainToUnicode } from 'node:url';
import { forms } from '../../forms/catalog.ts';
import type { Attempt } from '../../submissions/attempts.ts';
import type { KeptSubmission } from '../../submissions/listing.ts';
import { tableOf } from '../terminal.ts';

/** Of every form, and where a subscription came from (contract §3). */
const fieldNames = [
  ...new Set([
    ...Object.values(forms).flatMap(({ fields }) => fields.map(({ name }) => name)),
    'contractor',
  ]),
];

/** What a spreadsheet takes for a formula, or skips before one: full-width forms, and behind what no font shows. */
const FORMULA =
  /^(?:[\t\r\n\0]|[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}]*[=+\-@＝＋－＠])/u;
const NEEDS_QUOTES = /[",\r\n]/;

/** Nothing of these may reach a terminal, whatever a row says. */
const CONTROLS = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu;

/** The columns of the CSV. */
const columns: Readonly<Record<string, (item: KeptSubmission) => string | null | undefined>> = {
  id: ({ event }) => event.data.id,
  received_at: ({ receivedAt }) => receivedAt,
  type: ({ event }) => event.type,
  form: ({ event }) => event.data.form,
  recipient: ({ event }) => event.data.recipient?.name,
  origin: ({ event }) => event.data.origin,
  client: ({ event }) => event.data.client,
  consent_recorded_at: ({ event }) => event.data.consent_recorded_at,
  ...Object.fromEntries(
    fieldNames.map((name) => [name, ({ event }: KeptSubmission) => event.data.fields[name]]),
  ),
  status: ({ status }) => status,
  reason: ({ reason }) => reason,
  next_attempt_at: ({ nextAttemptAt }) => nextAttemptAt,
  /** How many: the attempts themselves are in the JSON lines. */
  attempts: ({ attempts }) => String(attempts.length),
};

/** The first record of the CSV: the names of its columns. */
export const csvHeader = csvRecord(Object.keys(columns));

/** One event as a record of RFC 4180, safe to open in a spreadsheet. */
export function csvRecordOf(item: KeptSubmission): string {
  return csvRecord(Object.values(columns).map((valueIn) => valueIn(item)));
}

/** One event as a line of JSON: the event itself, when it was received, and what became of it. */
export function jsonLineOf({ receivedAt, event, ...became }: KeptSubmission): string {
  const { status, reason, nextAttemptAt: next_attempt_at, attempts } = became;
  const line = { received_at: receivedAt, ...event, status, reason, next_attempt_at, attempts };
  return `${JSON.stringify(line)}\n`;
}

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

function csvRecord(cells: readonly (string | null | undefined)[]): string {
  return `${cells.map((cell) => csvCell(cell ?? '')).join(',')}\r\n`;
}

function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

function printable(text: string): string {
  return text.replace(CONTROLS, '');
}

const LATIN = /\p{Script=Latin}/u;

/** Letters that no word has beside Latin ones: Japanese, Korean and Chinese are written with both. */
const NEVER_BESIDE_LATIN =
  /(?![\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}])\p{L}/u;

const CYRILLIC = /\p{Script=Cyrillic}/u;
const GREEK = /\p{Script=Greek}/u;

/** A domain label of look-alike scripts may look like another's (Unicode TR 39, highly restrictive). */
function isMixedScript(email: string | undefined): boolean {
  const domain = email?.slice(email.lastIndexOf('@') + 1) ?? '';
  const labels = domainToUnicode(domain).split('.');
  return labels.some(
    (label) =>
      (LATIN.test(label) && NEVER_BESIDE_LATIN.test(label)) ||
      (CYRILLIC.test(label) && GREEK.test(label)),
  );
}
