/**
 * Seals and opens a preview token, `<payload>.<signature>` (spec §2.2, §7.1). The signature is an
 * HMAC-SHA256 over purpose, version and the payload as it is spelled, checked before anything of the
 * payload is read; so a token has exactly one valid spelling (contract §4, "Tokens").
 */
import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { newId } from '../chance.ts';
import { bounds } from '../forms/bounds.ts';
import type { FormName } from '../forms/catalog.ts';
import type { Fields } from '../forms/validate.ts';
import type { SigningKeys } from '../settings/signing-keys.ts';

/** How long a preview lives (spec §2.2). */
export const PREVIEW_LIFETIME_MS = bounds.previewLifetimeMinutes * 60_000;

/** So far clocks of instances may be apart. A preview of a clock that runs ahead would live longer. */
const CLOCKS_APART_MS = 60_000;

export type Preview = {
  action: FormName;
  fields: Fields;
  /** Who was named to the person: an execution never goes to anybody else. */
  destination: string;
  /** Milliseconds of the wall clock; a preview expires by the wall clock alone. */
  createdAt: number;
};

export type OpenedPreview =
  | { kind: 'open'; preview: Preview }
  | { kind: 'malformed' }
  | { kind: 'forged' }
  | { kind: 'future' }
  | { kind: 'expired' };

type Payload = { id: string; a: FormName; f: Fields; d: string; t: number };

const PURPOSE = 'lead-intake preview v1\n';
const SIGNATURE = /^[A-Za-z0-9_-]{43}$/;

/** At least one key. The id tells two previews of the same fields in the same millisecond from one another. */
export function sealPreview(keys: SigningKeys, preview: Preview, id = newId()): string {
  const key = keys[0];
  if (key === undefined) throw new Error('No key to sign previews with.');
  const payload: Payload = {
    id,
    a: preview.action,
    f: preview.fields,
    d: preview.destination,
    t: preview.createdAt,
  };
  const encoded = Buffer.from(JSON.stringify(payload)).toString('base64url');
  return `${encoded}.${sign(key, encoded)}`;
}

/** The preview in a token, or why it can't be executed. */
export function openPreview(keys: SigningKeys, token: string, now: Date): OpenedPreview {
  const dot = token.lastIndexOf('.');
  const encoded = token.slice(0, Math.max(dot, 0));
  const signature = token.slice(dot + 1);
  if (encoded === '' || !SIGNATURE.test(signature)) return { kind: 'malformed' };
  if (!keys.some((key) => isEqual(sign(key, encoded), signature))) return { kind: 'forged' };
  const payload = JSON.parse(Buffer.from(encoded, 'base64url').toString()) as Payload;
  // A clock without a valid time gives NaN, for which every comparison is false: then it has expired.
  const isAlive = now.getTime() < payload.t + PREVIEW_LIFETIME_MS;
  if (!isAlive) return { kind: 'expired' };
  if (payload.t > now.getTime() + CLOCKS_APART_MS) return { kind: 'future' };
  const { a: action, f: fields, d: destination, t: createdAt } = payload;
  return { kind: 'open', preview: { action, fields, destination, createdAt } };
}

/** What is kept of a token: its SHA-256, hex. The token itself carries what the person typed. */
export function digestOfPreview(token: string): string {
  return hash('sha256', token, 'hex');
}

function sign(key: Buffer, encoded: string): string {
  return createHmac('sha256', key)
    .update(PURPOSE + encoded)
    .digest('base64url');
}

/** The last character of a signature has spare bits: comparing its text leaves one spelling. */
function isEqual(expected: string, given: string): boolean {
  return timingSafeEqual(Buffer.from(expected), Buffer.from(given));
}
