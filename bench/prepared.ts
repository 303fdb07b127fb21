/** What stands in a database before its server starts: confirmations to press, and leads with who may look at them. */
import { hash } from 'node:crypto';
import { sealPage } from '../src/confirmations/secrets.ts';
import { digestOfToken } from '../src/console/tokens.ts';
import { bounds } from '../src/forms/bounds.ts';
import type { ConfirmationRow } from '../src/storage/confirmation-schema.ts';
import type { Storage } from '../src/storage/database.ts';
import type { ExecutionRow } from '../src/storage/schema.ts';
import { fill, MONTH_MS } from './console-rows.ts';
import { post, type Requests } from './requests.ts';
import { CLIENT, FIELDS, OPERATOR, SIGNING_KEY } from './settings.ts';

/** Each is pressed once: more than the slices of a whole run can use up. */
const ASKED = 80_000;
const ROWS_PER_INSERT = 500;
const HOUR_MS = 3_600_000;

const LEADS = 10_000;

/** What the operator's cookie holds. */
export const SESSION = 'bench'.padEnd(43, '-');

/** Confirmations that wait for their press. */
export async function keepAsked(storage: Storage): Promise<void> {
  const now = new Date();
  const later = new Date(now.getTime() + HOUR_MS);
  for (let from = 0; from < ASKED; from += ROWS_PER_INSERT) {
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

/** The button of one page after the other. */
export function presses(): Requests {
  let pressed = 0;
  const from = (address: string) => {
    if (pressed === ASKED) throw new Error(`All ${ASKED} confirmations are pressed.`);
    const { id, secret } = askedAs(pressed);
    pressed += 1;
    const form = { do: 'send', token: sealPage([SIGNING_KEY], id, new Date()) };
    const body = new URLSearchParams(form).toString();
    const type = 'application/x-www-form-urlencoded';
    return post(`/confirm/${secret}`, type, body, address, 'Sec-Fetch-Site: same-origin\r\n');
  };
  return { perAddress: bounds.rates.presses.limit, from, steady: false };
}

/** Leads of a month, and an operator who is signed in. */
export async function keepLeads(storage: Storage): Promise<void> {
  await fill(storage, { count: LEADS, began: Date.now() - MONTH_MS });
  const at = new Date().toISOString();
  const digest = digestOfToken(SESSION) ?? '';
  const session = { digest, name: 'bench', linked_at: at, signed_in_at: at, last_seen_at: at };
  await storage.write((tx) => tx.insertInto('operator_sessions').values(session).execute());
}

/** Known by their number, so that what presses them need not be told of each. */
function askedAs(number: number) {
  const hex = hash('sha256', `asked ${number}`, 'hex');
  const parts = [hex.slice(0, 8), hex.slice(8, 12), `4${hex.slice(13, 16)}`];
  const id = [...parts, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join('-');
  return { id, digest: hex, secret: hash('sha256', id, 'base64url').slice(0, 22) };
}

function rowsOf(number: number, now: string, later: string) {
  const { id, digest, secret } = askedAs(number);
  const both = { client: CLIENT, action: 'contact', destination: OPERATOR, created_at: now };
  const execution: ExecutionRow = {
    ...both,
    action_id: id,
    idempotency_key: id,
    preview_digest: digest,
    status: 'asked',
    confirmation_text: '',
    confirmed_via: 'page',
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
    fields: JSON.stringify(FIELDS),
    email: FIELDS.email,
    code_number: 0,
    code_expires_at: null,
    wrong_codes: 0,
    press_id: null,
  };
  return { execution, confirmation };
}
