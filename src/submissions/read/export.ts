/** Exports submissions as CSV that is safe in a spreadsheet, and as JSON lines (reference §13.4). */
import { forms } from '../../forms/catalog.ts';
import type { StoredSubmission } from './list.ts';

/** Matches a text that a spreadsheet reads as a formula, also with a full-width sign or invisible characters first. */
const FORMULA =
  /^(?:[\t\r\n\0]|[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}]*[=+\-@＝＋－＠])/u;
const NEEDS_QUOTES = /[",\r\n]/;

/** Returns a record. A null or undefined value is an empty cell. */
export function csvRecord(cells: readonly (string | null | undefined)[]): string {
  return `${cells.map((cell) => csvCell(cell ?? '')).join(',')}\r\n`;
}

function csvCell(text: string): string {
  const safe = FORMULA.test(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Fields of all forms, and the originating site of a subscription (reference §10.2). */
const fieldNames = [
  ...new Set([...Object.values(forms).flatMap(({ fields }) => fields.map(({ name }) => name)), 'contractor']),
];

const columns: Readonly<Record<string, (item: StoredSubmission) => string | null | undefined>> = {
  id: ({ event }) => event.data.id,
  received_at: ({ receivedAt }) => receivedAt,
  type: ({ event }) => event.type,
  form: ({ event }) => event.data.form,
  recipient: ({ event }) => event.data.recipient?.name,
  origin: ({ event }) => event.data.origin,
  client: ({ event }) => event.data.client,
  consent_recorded_at: ({ event }) => event.data.consent_recorded_at,
  ...Object.fromEntries(fieldNames.map((name) => [name, ({ event }: StoredSubmission) => event.data.fields[name]])),
  status: ({ status }) => status,
  reason: ({ reason }) => reason,
  next_attempt_at: ({ nextAttemptAt }) => nextAttemptAt,
  /** Number of attempts. The JSON lines contain the attempts themselves. */
  attempts: ({ attempts }) => String(attempts.length),
};

/** The first record of the CSV, with the names of the columns. */
export const csvHeader = csvRecord(Object.keys(columns));

/** Returns a submission as a record of RFC 4180. */
export function csvRecordOf(item: StoredSubmission): string {
  return csvRecord(Object.values(columns).map((valueIn) => valueIn(item)));
}

/** Returns a submission as a line of JSON. */
export function jsonLineOf({ receivedAt, event, nextAttemptAt, ...result }: StoredSubmission): string {
  const { status, reason, attempts } = result;
  const line = { received_at: receivedAt, ...event, status, reason, next_attempt_at: nextAttemptAt, attempts };
  return `${JSON.stringify(line)}\n`;
}
