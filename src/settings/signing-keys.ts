/**
 * The keys that sign previews (contract §2, `PREVIEW_SIGNING_KEYS`): the first signs, all verify. To rotate
 * them, a new one goes first; the old one goes once its last preview has expired. Replays need no key.
 */
import { randomSecret } from '../chance.ts';

export type SigningKeys = readonly Buffer[];

/** The least that a key must have, and what a new one has. */
export const SIGNING_KEY_BYTES = 32;

/** Whether it is long enough to sign with. */
export function isSigningKey(key: Buffer): boolean {
  return key.length >= SIGNING_KEY_BYTES;
}

/** A new key as local mode keeps it in its folder: one line of base64. */
export function newSigningKey(): string {
  return `${randomSecret(SIGNING_KEY_BYTES).toString('base64')}\n`;
}

/** Takes the text of such a file; returns the key, or undefined where it is too short. */
export function parseSigningKey(text: string): Buffer | undefined {
  const key = Buffer.from(text.trim(), 'base64');
  return isSigningKey(key) ? key : undefined;
}
