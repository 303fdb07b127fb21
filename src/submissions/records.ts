/** Submissions as programs read them (beyond §1): CSV that is safe in a spreadsheet, and JSON lines. */
import { forms } from '../forms/catalog.ts';
import { csvRecord } from './csv.ts';
import type { KeptSubmission } from './listing.ts';

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
