/** The work that every preview needs, on any server. All compared servers except the service call these functions. */
import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { CLIENT, OPERATOR, SIGNING_KEY, TOKEN } from '../settings.ts';

export const STATEMENT = 'I confirm that Service may use these details for the selected action.';
const LIFETIME_MS = 600_000;
const REQUIRED = ['name', 'email', 'subject', 'message'];
const EMAIL = /^[a-z0-9.!#$%&'*+/=?^_`{|}~-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/;
const CONTROL = /(?![\t\n])\p{Cc}/u;

const clients = new Map([[sha256(`Bearer ${TOKEN}`), CLIENT]]);

export function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Returns the client of a bearer credential. */
export function clientOf(authorization: string | undefined): string | undefined {
  return clients.get(sha256(authorization ?? ''));
}

/** Returns the checked fields of a `contact`, or undefined if one is missing or invalid. */
export function checkFields(raw: Record<string, unknown>): Record<string, string> | undefined {
  const fields: Record<string, string> = {};
  for (const name of ['name', 'email', 'phone', 'subject', 'message']) {
    const value = raw[name];
    if (value === undefined && !REQUIRED.includes(name)) continue;
    if (typeof value !== 'string') return undefined;
    const text = name === 'email' ? value.trim().toLowerCase() : value.trim();
    if (text === '' || text.length > 2000 || CONTROL.test(text)) return undefined;
    if (name === 'email' && !EMAIL.test(text)) return undefined;
    fields[name] = text;
  }
  return fields;
}

/** Returns the record of a preview with its token. */
export function seal(fields: Record<string, string>) {
  const now = Date.now();
  const id = randomBytes(16).toString('base64url');
  const payload = JSON.stringify({ id, a: 'contact', f: fields, d: OPERATOR, t: now });
  const encoded = Buffer.from(payload).toString('base64url');
  return {
    ok: true,
    preview_id: `${encoded}.${sign(encoded)}`,
    action: 'contact',
    fields,
    created_at: new Date(now).toISOString(),
    expires_at: new Date(now + LIFETIME_MS).toISOString(),
    confirmation_required: true,
    confirmation_statement: STATEMENT,
    destination: OPERATOR,
  };
}

/** Returns the fields of a token, or undefined if it is forged or expired. */
export function open(token: string): Record<string, string> | undefined {
  const [encoded = '', signature = ''] = token.split('.');
  const expected = Buffer.from(sign(encoded));
  const given = Buffer.from(signature);
  if (expected.length !== given.length || !timingSafeEqual(expected, given)) return undefined;
  const payload = JSON.parse(Buffer.from(encoded, 'base64url').toString());
  return payload.t + LIFETIME_MS > Date.now() ? payload.f : undefined;
}

function sign(encoded: string): string {
  return createHmac('sha256', SIGNING_KEY).update(`lead-intake preview v1\n${encoded}`).digest('base64url');
}
