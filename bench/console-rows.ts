/** Fills every table that a page of the console reads with many rows, for the console's measurements. */
import { createHash } from 'node:crypto';
import { isoTime } from '../src/platform/clock.ts';
import type { Storage } from '../src/storage/database.ts';
import type { MessageRow, OperatorAuditRow } from '../src/storage/operation-schema.ts';
import type { ConfirmationRow, ExecutionRow, Schema, SubscriberRow } from '../src/storage/schema.ts';
import { progresses } from '../src/submissions/read/filter.ts';
import { submissionRow } from '../test/support/submissions.ts';
import { CLIENT } from './settings.ts';

export const MONTH_MS = 30 * 86_400_000;

/** E-mail address of one lead in twenty, as if a program had flooded the form. */
export const FLOOD = 'flood@example.com';

const forms = ['contact', 'homeowner_quote', 'newsletter', 'contractor_signup'] as const;

/**
 * Number of submissions, and the time of the first one. The submissions and their rows in other tables are spread
 * evenly over one month.
 */
export type Filled = { count: number; began: number };

/** Makes the row with a given number. Every `each`th number has a row in this table. */
type Kind = { each: number; rowOf: (number: number, filled: Filled) => object };

const kinds: Partial<Record<keyof Schema, Kind>> = {
  submissions: { each: 1, rowOf: submissionOf },
  executions: { each: 10, rowOf: executionOf },
  confirmations: { each: 10, rowOf: confirmationOf },
  confirmation_reports: { each: 100, rowOf: reportOf },
  messages: { each: 5, rowOf: messageOf },
  subscribers: { each: 2, rowOf: subscriberOf },
  operator_audit: { each: 2, rowOf: auditOf },
};

/** Inserts the rows in the order of time, as in a year of use. One statement inserts many rows. */
export async function fill(storage: Storage, filled: Filled): Promise<void> {
  const rowsAtOnce = 500;
  for (const [name, { each, rowOf }] of Object.entries(kinds)) {
    for (let from = 0; from < filled.count; from += each * rowsAtOnce) {
      const rows = Array.from({ length: rowsAtOnce }, (_, at) => rowOf(from + at * each, filled));
      await storage.write((tx) =>
        tx
          .insertInto(name as 'submissions')
          .values(rows as never)
          .execute(),
      );
    }
  }
}

/**
 * Returns the number of rows and the time of the first one. The number of rows is 0 in a database that was not filled
 * yet.
 */
export async function filledOf(storage: Storage): Promise<Filled> {
  const [found] = await storage.read((db) =>
    db
      .selectFrom('submissions')
      .where('id', 'like', '%-7000-8000-%')
      .select((row) => [row.fn.countAll<number>().as('rows'), row.fn.min('received_ms').as('began')]),
  );
  return { count: Number(found?.rows ?? 0), began: Number(found?.began ?? 0) };
}

export const numberOf = (number: number) => String(number).padStart(7, '0');
const isAgents = (number: number) => number % 10 === 0;
const emailOf = (number: number) => (number % 20 === 7 ? FLOOD : `person${numberOf(number)}@example.com`);

function submissionOf(number: number, filled: Filled) {
  const rest = number % 1_000;
  const status = rest < 3 ? 'waiting' : rest < 6 ? 'undelivered' : rest < 30 ? 'dismissed' : 'delivered';
  return submissionRow({
    id: idAt(number, filled),
    received_ms: receivedAt(number, filled),
    form: forms[number % forms.length] ?? 'contact',
    origin: isAgents(number) ? 'agent' : 'browser',
    data: { client: isAgents(number) ? CLIENT : null },
    status,
    progress: progresses[number % 9] ?? 'new',
    reason: status === 'undelivered' ? 'rejected' : null,
    attempts: [{ outcome: status === 'undelivered' ? 'rejected' : 'confirmed' }],
    fields: {
      name: `Ada Lovelace ${number}`,
      email: emailOf(number),
      phone: `+1 555 ${numberOf(number)}`,
      message: `${'Could somebody look at the terrace before the winter? Two tiles are loose. '.repeat(4)}needle${number}`,
    },
  });
}

function executionOf(number: number, filled: Filled): ExecutionRow {
  const at = timeAt(number, filled);
  return {
    action_id: idAt(number, filled),
    action: forms[number % forms.length] ?? 'contact',
    client: CLIENT,
    idempotency_key: `key ${number}`,
    preview_digest: digestOf(number, 'preview'),
    status: number % 100 === 0 ? 'failed' : 'submitted',
    created_at: at,
    confirmation_text: 'I confirm that Service may use these details for the selected action.',
    confirmed_via: 'page',
    destination: 'Vetted Painters',
    sandbox: 0,
    signed_receipt: null,
    receipt_kid: null,
    lease_started_ms: 0,
    lease_ms: 15_000,
    settled_at: at,
  };
}

function confirmationOf(number: number, filled: Filled): ConfirmationRow {
  const at = timeAt(number, filled);
  return {
    id: idAt(number, filled),
    client: CLIENT,
    action: forms[number % forms.length] ?? 'contact',
    via: 'page',
    destination: 'Vetted Painters',
    secret_digest: digestOf(number, 'secret'),
    mailbox_digest: digestOf(number, 'mailbox'),
    created_at: at,
    expires_at: at,
    sandbox: 0,
    fields: null,
    email: null,
    code_number: 0,
    code_expires_at: null,
    wrong_codes: 0,
    press_id: null,
  };
}

function reportOf(number: number, filled: Filled) {
  const at = timeAt(number, filled);
  return { client: CLIENT, mailbox_digest: digestOf(number, 'mailbox'), reported_at: at, seen: 0, sandbox: 0 };
}

/**
 * Makes a message. One message in ten has failed permanently. One message in ten is due in a year, as if the mail
 * server had been unavailable for long.
 */
function messageOf(number: number, filled: Filled): MessageRow {
  const at = timeAt(number, filled);
  const rest = number % 50;
  return {
    kind: 'confirmation',
    key: `reader${numberOf(number)}@example.com`,
    address: `reader${numberOf(number)}@example.com`,
    about: null,
    sealed_secret: null,
    priority: 1,
    message_id: `<${idAt(number, filled)}@bench.example>`,
    status: rest === 0 ? 'dead' : rest === 5 ? 'pending' : 'sent',
    requested_at: at,
    attempts: 1,
    next_attempt_at: isoTime(filled.began + 12 * MONTH_MS),
    last_attempt_at: at,
    attempt_started_ms: null,
    reply: null,
  };
}

function subscriberOf(number: number, filled: Filled): SubscriberRow {
  const at = timeAt(number, filled);
  const rest = number % 20;
  const status = rest < 2 ? 'pending' : rest < 4 ? 'unsubscribed' : 'confirmed';
  return {
    id: idAt(number, filled),
    email: `reader${numberOf(number)}@example.com`,
    contractor: 'direct',
    status,
    made_by: idAt(number, filled),
    confirm_token: digestOf(number, 'confirm').slice(0, 22),
    leave_token: digestOf(number, 'leave').slice(0, 22),
    created_at: at,
    consent_recorded_at: at,
    expires_at: status === 'pending' ? isoTime(filled.began + 12 * MONTH_MS) : null,
    confirmed_at: status === 'confirmed' ? at : null,
    unsubscribed_at: status === 'unsubscribed' ? at : null,
  };
}

function auditOf(number: number, filled: Filled): OperatorAuditRow {
  return {
    id: idAt(number, filled),
    at: timeAt(number, filled),
    name: 'Jo',
    what: 'saw_lead',
    about: JSON.stringify({ ids: [idAt(number, filled)] }),
  };
}

const receivedAt = (number: number, { count, began }: Filled) => began + Math.floor((number * MONTH_MS) / count);

const timeAt = (number: number, filled: Filled) => isoTime(receivedAt(number, filled));

/** Returns the id of the row with this number. */
export const idAt = (number: number, filled: Filled) => idOf(number, receivedAt(number, filled));

/** Returns an id of version 7 for a number and a time in milliseconds. */
function idOf(number: number, ms: number): string {
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-${number.toString(16).padStart(12, '0')}`;
}

/** Returns a digest with the length and the disorder of a real one. */
function digestOf(number: number, of: string): string {
  return createHash('sha256').update(`${of} ${number}`).digest('hex');
}
