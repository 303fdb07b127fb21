/**
 * Keys that sign previews (reference §20.3, `PREVIEW_SIGNING_KEYS`). The first key signs, and every key verifies. To
 * rotate them, add a new key in front. Remove the old one when its last preview has expired. Replays need no key.
 */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { randomSecret } from '../platform/random.ts';

export type SigningKeys = readonly Buffer[];

/** Minimum length of a key, and the length of a new one. */
export const SIGNING_KEY_BYTES = 32;

export function isSigningKey(key: Buffer): boolean {
  return key.length >= SIGNING_KEY_BYTES;
}

/** Returns a new key as local mode stores it: one line of base64. */
export function newSigningKey(): string {
  return `${randomSecret(SIGNING_KEY_BYTES).toString('base64')}\n`;
}

/** Parses a key in base64. Returns undefined if the key is too short. */
export function parseSigningKey(text: string): Buffer | undefined {
  const key = Buffer.from(text, 'base64');
  return isSigningKey(key) ? key : undefined;
}

/** Signs a text for one purpose with the first key: HMAC-SHA256, in base64url. Throws without a key. */
export function signFor(purpose: string, [key]: SigningKeys, text: string): string {
  if (key === undefined) throw new Error('There is no key to sign with.');
  return createHmac('sha256', key)
    .update(purpose + text)
    .digest('base64url');
}

/** Returns true if one of the keys made this signature. Only one spelling of a signature is valid. */
export function isSignedFor(purpose: string, keys: SigningKeys, text: string, signature: string): boolean {
  return keys.some((key) => isEqual(signFor(purpose, [key], text), signature));
}

const CIPHER = 'aes-256-gcm';
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * Encrypts a text for one purpose, with a key that HKDF derives from the first key. Only for the same `context` the
 * result can be decrypted. Throws without a key.
 */
export function encryptFor(purpose: string, [key]: SigningKeys, context: string, text: string): string {
  if (key === undefined) throw new Error('There is no key to encrypt with.');
  const iv = randomSecret(IV_BYTES);
  const cipher = createCipheriv(CIPHER, derive(key, purpose), iv).setAAD(Buffer.from(context));
  return Buffer.concat([iv, cipher.update(text), cipher.final(), cipher.getAuthTag()]).toString('base64url');
}

/** Decrypts a text of `encryptFor`. Returns undefined if none of the keys encrypted it for this purpose and context. */
export function decryptFor(purpose: string, keys: SigningKeys, context: string, encrypted: string): string | undefined {
  const bytes = Buffer.from(encrypted, 'base64url');
  if (bytes.length < IV_BYTES + TAG_BYTES) return undefined;
  for (const key of keys) {
    const decipher = createDecipheriv(CIPHER, derive(key, purpose), bytes.subarray(0, IV_BYTES))
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(-TAG_BYTES));
    const text = decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES));
    try {
      return Buffer.concat([text, decipher.final()]).toString();
    } catch {
      // Another key encrypted the text.
    }
  }
  return undefined;
}

function derive(key: Buffer, purpose: string): Buffer {
  return Buffer.from(hkdfSync('sha256', key, '', purpose, 32));
}

/** Compares two texts in constant time. */
export function isEqual(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}
