/** Submissions as text: CSV and JSON lines for programs, a table and a page for people. */
import { domainToUnicode } from 'node:url';
import { forms } from '../../forms/catalog.ts';
import type { Attempt } from '../../submissions/attempts.ts';
import type { KeptSubmission } from '../../submissions/listing.ts';
import { csvRecord } from '../csv.ts';
import { printable, tableOf } from '../terminal.ts';

/** Of every form, and where a subscription came from (contract §3). */
const fieldNames = [
  ...new Set([
    ...Object.values(forms).flatMap(({ fields }) => fields.map(({ name }) => name)),
    'contractor',
  ]),
];

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

/** The lines of a table, its head first. */
export function inboxTable(items: readonly KeptSubmission[]): string[] {
  const rows = items.map(({ receivedAt, status, event: { data } }) => [
    `${receivedAt.slice(0, 16).replace('T', ' ')}Z`,
    data.id,
    status,
    data.form,
    data.client ?? data.origin,
    data.fields.name ?? '',
    `${data.fields.email ?? ''}${isMixedScript(data.fields.email) ? ' (mixed scripts)' : ''}`,
  ]);
  const head = ['RECEIVED', 'ID', 'STATUS', 'FORM', 'FROM', 'NAME', 'E-MAIL'];
  return tableOf([head, ...rows.map((row) => row.map(printable))]);
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
