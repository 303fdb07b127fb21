/** What the console's measurements find in the database. */
import type { Storage } from '../src/storage/database.ts';
import type { SubmissionRow } from '../src/storage/schema.ts';
import { submissionRow } from '../test/support/submissions.ts';

export const MONTH_MS = 30 * 86_400_000;

const forms = ['contact', 'homeowner_quote', 'newsletter', 'contractor_signup'] as const;

/** So many submissions, evenly over a month since that moment; each of somebody else. */
export async function fill(storage: Storage, count: number, began: number): Promise<void> {
  const each = 500;
  for (let from = 0; from < count; from += each) {
    const rows = Array.from({ length: each }, (_, at) => rowOf(from + at, count, began));
    await storage.write((tx) => tx.insertInto('submissions').values(rows).execute());
  }
  if (storage.kind === 'postgres') {
    const vacuum = { sql: 'analyze submissions', parameters: [] };
    await storage.write((tx) => tx.executeQuery(vacuum as never));
  }
}

function rowOf(number: number, count: number, began: number): SubmissionRow {
  const ms = receivedAt(number, count, began);
  const rest = number % 1_000;
  const status =
    rest < 3 ? 'waiting' : rest < 6 ? 'undelivered' : rest < 30 ? 'dismissed' : 'delivered';
  const digits = String(number).padStart(7, '0');
  return submissionRow({
    id: idOf(number, ms),
    received_ms: ms,
    form: forms[number % forms.length] ?? 'contact',
    origin: number % 10 === 0 ? 'agent' : 'browser',
    status,
    reason: status === 'undelivered' ? 'rejected' : null,
    fields: {
      name: `Ada Lovelace ${number}`,
      email: `person${digits}@example.com`,
      phone: `+1 555 ${digits}`,
      message: `${'Could somebody look at the terrace before the winter? Two tiles are loose. '.repeat(4)}needle${number}`,
    },
  });
}

/** The id of one of them, by its number. */
export function idAt(number: number, count: number, began: number): string {
  return idOf(number, receivedAt(number, count, began));
}

const receivedAt = (number: number, count: number, began: number) =>
  began + Math.floor((number * MONTH_MS) / count);

/** An id of that millisecond. */
export function idOf(number: number, ms: number): string {
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, '0')}`;
}
