/**
 * Makes and checks the secret in a page's address, the token of its buttons, and codes (reference §6.12). No token or
 * code is stored. The secret derives from the preview token, which only the client has. It is stored only in the row of
 * a message with a code, encrypted, until the message is sent or dead. Tokens, codes and the key of this encryption
 * derive from the keys that sign previews.
 */
import { createHmac, hash } from 'node:crypto';
import { bounds } from '../forms/bounds.ts';
import { linkSecretIn } from '../server/secret-paths.ts';
import { decryptFor, encryptFor, isEqual, isSignedFor, type SigningKeys, signFor } from '../settings/signing-keys.ts';

/** Length of the secret in characters, which gives 131.9 bits. The last character is a letter or digit. */
const SECRET_LENGTH = 22;
const SECRET = /^[A-Za-z0-9_-]{21}[A-Za-z0-9]$/;

const PAGE_PURPOSE = 'lead-intake page v1\n';
const CODE_PURPOSE = 'lead-intake code v1\n';
const MESSAGE_PURPOSE = 'lead-intake message v1\n';
const TOKEN = /^(\d{1,16})\.([A-Za-z0-9_-]{43})$/;

/** Number of codes with six digits. */
const CODES = 1_000_000n;
/** Characters between digits that a check ignores: blanks, dashes and invisible characters. */
const PARTING = /[\s\p{Dash_Punctuation}\p{Format}]/gu;

const PAGE_LIFETIME_MS = bounds.pageLifetimeMinutes * 60_000;

/** Returns the secret at the end of a page's address. Equal arguments give the same secret. */
export function secretOf(id: string, previewToken: string): string {
  const text = createHmac('sha256', previewToken).update(id).digest('base64url');
  return linkSecretIn(text, SECRET_LENGTH);
}

/**
 * Computes the SHA-256 digest of a secret, in hex, as the store contains it. Returns undefined if the text does not have
 * the form of a secret.
 */
export function digestOfSecret(secret: string): string | undefined {
  return SECRET.test(secret) ? hash('sha256', secret, 'hex') : undefined;
}

/** Returns the token that the send button needs. The token is valid for ten minutes. Needs at least one key. */
export function sealPage(keys: SigningKeys, id: string, now: Date): string {
  const until = String(now.getTime() + PAGE_LIFETIME_MS);
  return `${until}.${signFor(PAGE_PURPOSE, keys, `${id}\n${until}`)}`;
}

/** Returns true if the token is valid for this confirmation. */
export function isPageToken(keys: SigningKeys, id: string, token: string, now: Date): boolean {
  const [, until = '', signature = ''] = TOKEN.exec(token) ?? [];
  const isOurs = isSignedFor(PAGE_PURPOSE, keys, `${id}\n${until}`, signature);
  return isOurs && now.getTime() < Number(until);
}

/** Returns the six digits of a confirmation's code. `number` counts the codes from 1. Needs at least one key. */
export function codeOf(keys: SigningKeys, id: string, number: number): string {
  const made = Buffer.from(signFor(CODE_PURPOSE, keys, `${id}\n${number}`), 'base64url');
  return String(made.readBigUInt64BE() % CODES).padStart(6, '0');
}

/** Encrypts a secret for the row of the message with this key. Needs at least one signing key. */
export function sealSecret(keys: SigningKeys, messageKey: string, secret: string): string {
  return encryptFor(MESSAGE_PURPOSE, keys, messageKey, secret);
}

/** Decrypts the secret in the row of a message. Returns undefined if the signing key was removed since then. */
export function openSecret(keys: SigningKeys, messageKey: string, sealed: string): string | undefined {
  return decryptFor(MESSAGE_PURPOSE, keys, messageKey, sealed);
}

/** Returns the typed text without characters between digits. */
export function typedCode(given: string): string {
  return given.replaceAll(PARTING, '');
}

/** Returns true if `given` contains the digits of the confirmation's code with this number. */
export function isCode(keys: SigningKeys, id: string, number: number, given: string): boolean {
  return keys.some((key) => isEqual(codeOf([key], id, number), given));
}
