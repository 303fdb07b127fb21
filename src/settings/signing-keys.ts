/**
 * Keys that sign previews (reference §20.3, `PREVIEW_SIGNING_KEYS`). The first key signs, and every key verifies. To
 * rotate them, add a new key in front. Remove the old one when its last preview has expired. Replays need no key.
 */
import { createHmac, timingSafeEqual } from 'node:crypto';
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
  const key = Buffer.from(text.trim(), 'base64');
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

/** Compares two texts in constant time. */
export function isEqual(expected: string, given: string): boolean {
  const [one, other] = [Buffer.from(expected), Buffer.from(given)];
  return one.length === other.length && timingSafeEqual(one, other);
}
