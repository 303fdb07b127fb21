/** Exports submissions as CSV that is safe in a spreadsheet, and as JSON lines (reference §13.4). */
import { forms } from '../../forms/catalog.ts';
import type { StoredSubmission } from './list.ts';

/** Matches a sign that begins a formula, also behind characters that a spreadsheet or an editor may drop. */
const SIGN =
  /^[\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}]*[=+\-@＝＋－＠]/u;

/** Matches a call of a function, or a link to another program or file. Such a text always gets the apostrophe. */
const CALL = /\||!(?!\s*$)|\p{L}\d*\s*\(/u;

/**
 * Texts behind a plus or a minus sign with nothing to compute. In no spreadsheet can a blank follow a number and precede
 * a word, a number or a parenthesis in a formula. A formula that begins with an unknown word is an error.
 */
const NUMBER = /^\s*\d[\d.,]*(?:$|\s+[\p{L}\d(])/u;
const WORDS = /^\s+(?:[\p{L}\p{M}]{1,2}\s+)?(?!(?:true|false)\b)[\p{L}\p{M}]{3,}(?![\p{L}\p{M}\p{N}_])/iu;
const PUNCTUATION = /^[^\p{L}\p{N}"]*$/u;

const NEEDS_QUOTES = /[",\r\n]/;

/** The byte order mark, by which Excel recognises UTF-8. */
const BYTE_ORDER_MARK = '\uFEFF';

/** Returns the first record of a CSV. */
export function csvHead(columns: readonly string[]): string {
  return BYTE_ORDER_MARK + csvRecord(columns);
}

/** Returns a record. A null or undefined value is an empty cell. */
export function csvRecord(cells: readonly (string | null | undefined)[]): string {
  return `${cells.map((cell) => csvCell(cell ?? '')).join(',')}\r\n`;
}

function csvCell(text: string): string {
  const safe = couldCompute(text) ? `'${text}` : text;
  return NEEDS_QUOTES.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** Returns true if a spreadsheet could compute something from a text (reference §13.4 rule 6). */
function couldCompute(text: string): boolean {
  if (!SIGN.test(text)) return false;
  if (!/^[+-]/.test(text)) return true;
  const rest = text.slice(1).normalize('NFKC');
  return CALL.test(rest) || ![NUMBER, WORDS, PUNCTUATION].some((harmless) => harmless.test(rest));
}

/** Returns a function that writes a time in a time zone as spreadsheets read it: `2026-12-01 13:45:00`. */
export function csvTimes(timeZone: string): (at: string | null | undefined) => string | undefined {
  return (at) => {
    if (at == null) return undefined;
    const local = Temporal.Instant.from(at).toZonedDateTimeISO(timeZone).toPlainDateTime();
    return local.toString({ smallestUnit: 'second' }).replace('T', ' ');
  };
}

/** Fields in the order of their columns. A form's other fields follow. */
const fieldNames = [
  ...new Set([
    ...['name', 'email', 'phone', 'postal_code', 'project_type', 'timeline', 'company', 'company_size', 'subject'],
    ...Object.values(forms).flatMap(({ fields }) => fields.map(({ name }) => name)),
  ]),
];

/** The formats of an export: the first record of the CSV, and the functions that write a submission. */
export type Formats<Row> = { head: string; csv(row: Row): string; jsonl(row: Row): string };

/** Returns the formats of submissions. The times of the CSV are in a time zone. */
export function submissionFormats(timeZone: string): Formats<StoredSubmission> {
  const timeOf = csvTimes(timeZone);
  const head = [
    ...['received_at', 'form', 'progress'],
    ...fieldNames,
    ...['note', 'origin', 'agent', 'status', 'reference', 'consent_recorded_at'],
  ];
  const csv = ({ receivedAt, event: { data }, progress, note, status }: StoredSubmission) =>
    csvRecord([
      ...[timeOf(receivedAt), data.form, progress],
      ...fieldNames.map((name) => data.fields[name]),
      ...[note, data.origin, data.client, status, data.id, timeOf(data.consent_recorded_at)],
    ]);
  return { head: csvHead(head), csv, jsonl: jsonLineOf };
}

/** Returns a submission as a line of JSON. */
export function jsonLineOf({ receivedAt, event, nextAttemptAt, ...row }: StoredSubmission): string {
  const { status, reason, progress, note, attempts } = row;
  const line = { received_at: receivedAt, ...event, status, reason, progress, note };
  return `${JSON.stringify({ ...line, next_attempt_at: nextAttemptAt, attempts })}\n`;
}
