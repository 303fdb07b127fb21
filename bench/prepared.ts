/** Inserts rows before a server starts: pending confirmations, and leads with an operator who may see them. */
import { hash } from 'node:crypto';
import { sealPage, secretOf } from '../src/confirmations/tokens.ts';
import { digestOfToken } from '../src/console/links.ts';
import { bounds } from '../src/forms/bounds.ts';
import type { Storage } from '../src/storage/database.ts';
import type { ConfirmationRow, ExecutionRow } from '../src/storage/schema.ts';
import { fill, MONTH_MS } from './console-rows.ts';
import { post, type Requests } from './requests.ts';
import { CLIENT, FIELDS, OPERATOR, SIGNING_KEY } from './settings.ts';

/**
 * Number of pending confirmations. Each confirmation is confirmed once, and a whole run needs fewer than this number.
 */
const PENDING = 80_000;
const ROWS_PER_INSERT = 500;
const HOUR_MS = 3_600_000;

const LEADS = 10_000;

/** Content of the operator's cookie. */
export const SESSION = 'bench'.padEnd(43, '-');

/** Inserts pending confirmations. */
export async function insertPending(storage: Storage): Promise<void> {
  const now = new Date();
  const later = new Date(now.getTime() + HOUR_MS);
  for (let from = 0; from < PENDING; from += ROWS_PER_INSERT) {
    const rows = Array.from({ length: ROWS_PER_INSERT }, (_, at) =>
      rowsOf(from + at, now.toISOString(), later.toISOString()),
    );
    await storage.write(async (tx) => {
      await tx
        .insertInto('executions')
        .values(rows.map(({ execution }) => execution))
        .execute();
      await tx
        .insertInto('confirmations')
        .values(rows.map(({ confirmation }) => confirmation))
        .execute();
    });
  }
}

/** Returns requests that confirm one pending confirmation after the other. */
export function clicks(): Requests {
  let clicked = 0;
  const from = (address: string) => {
    if (clicked === PENDING) throw new Error(`All ${PENDING} confirmations are pressed.`);
    const { id, secret } = pendingOf(clicked);
    clicked += 1;
    const form = { do: 'send', token: sealPage([SIGNING_KEY], id, new Date()) };
    const body = new URLSearchParams(form).toString();
    const type = 'application/x-www-form-urlencoded';
    return post(`/confirm/${secret}`, type, body, address, 'Sec-Fetch-Site: same-origin\r\n');
  };
  return { perAddress: bounds.rates.presses.limit, from, steady: false };
}

/** Inserts the leads of a month, and the session of an operator. */
export async function insertLeads(storage: Storage): Promise<void> {
  await fill(storage, { count: LEADS, began: Date.now() - MONTH_MS });
  const at = new Date().toISOString();
  const digest = digestOfToken(SESSION) ?? '';
  const session = { digest, name: 'bench', mailed: 0 as const, signed_in_at: at, last_seen_at: at };
  await storage.write((tx) => tx.insertInto('operator_sessions').values(session).execute());
}

/** Derives the values of a pending confirmation from its number, so that the requests need no list of rows. */
function pendingOf(number: number) {
  const hex = hash('sha256', `asked ${number}`, 'hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
  const id = [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
  return { id, digest: hex, secret: secretOf(id, hex) };
}

function rowsOf(number: number, now: string, later: string) {
  const { id, digest, secret } = pendingOf(number);
  const both = { client: CLIENT, action: 'contact', destination: OPERATOR, created_at: now };
  const execution: ExecutionRow = {
    ...both,
    action_id: id,
    idempotency_key: id,
    preview_digest: digest,
    status: 'asked',
    confirmation_text: '',
    confirmed_via: 'page',
    sandbox: 0,
    signed_receipt: null,
    receipt_kid: null,
    lease_started_ms: 0,
    lease_ms: 0,
    settled_at: null,
  };
  const confirmation: ConfirmationRow = {
    ...both,
    id,
    via: 'page',
    secret_digest: hash('sha256', secret, 'hex'),
    mailbox_digest: digest,
    expires_at: later,
    sandbox: 0,
    fields: JSON.stringify(FIELDS),
    email: FIELDS.email,
    code_number: 0,
    code_expires_at: null,
    wrong_codes: 0,
    press_id: null,
  };
  return { execution, confirmation };
}
