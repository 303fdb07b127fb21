/** Codes and tokens of OAuth (reference §26.6). They are random, and the store has only their digests. */
import { hash, timingSafeEqual } from 'node:crypto';

/** Returns random bytes (`platform/random.ts`). */
export type RandomSecret = (bytes: number) => Buffer;

const FAMILY_BYTES = 16;
const SECRET_BYTES = 32;

const SECRET = /^[\w-]{43}$/;
/** A refresh token: the part that all refresh tokens of a connection share, and the part that changes. */
const REFRESH = /^[\w-]{65}$/;
const FAMILY_LENGTH = 22;

/** A secret and its SHA-256 digest in hex. */
export type Made = { secret: string; digest: string };

/** Makes a code, an access token, or the part of a refresh token that changes. */
export function makeSecret(random: RandomSecret): Made {
  return madeOf(random(SECRET_BYTES).toString('base64url'));
}

/** Makes the part that all refresh tokens of a connection share. */
export function makeFamily(random: RandomSecret): Made {
  return madeOf(random(FAMILY_BYTES).toString('base64url'));
}

function madeOf(secret: string): Made {
  return { secret, digest: digestOf(secret) };
}

/** Returns the digest of a code or an access token, or undefined if the text has another form. */
export function digestOfSecret(text: string): string | undefined {
  return SECRET.test(text) ? digestOf(text) : undefined;
}

/** Returns both parts of a refresh token with their digests, or undefined if the text has another form. */
export function refreshParts(text: string): { family: Made; secret: Made } | undefined {
  if (!REFRESH.test(text)) return undefined;
  return { family: madeOf(text.slice(0, FAMILY_LENGTH)), secret: madeOf(text.slice(FAMILY_LENGTH)) };
}

const VERIFIER = /^[\w.~-]{43,128}$/;
export const CHALLENGE = /^[\w-]{43}$/;

/** Returns true if a verifier belongs to a challenge of the method S256 (RFC 7636 §4.6). */
export function isVerified(verifier: string, challenge: string): boolean {
  const made = Buffer.from(hash('sha256', verifier, 'base64url'));
  const wanted = Buffer.from(challenge);
  return VERIFIER.test(verifier) && made.length === wanted.length && timingSafeEqual(made, wanted);
}

function digestOf(text: string): string {
  return hash('sha256', text, 'hex');
}
