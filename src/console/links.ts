/** Sign-in links, which work once, and the secrets of links and cookies (reference §12.2). */
import { hash } from 'node:crypto';
import { isName } from '../forms/names.ts';
import { isoTime } from '../platform/clock.ts';
import { randomSecret } from '../platform/random.ts';
import { pathTo, routes } from '../routes.ts';
import type { Storage } from '../storage/database.ts';

/** Reference §12.2. */
const LIFETIME_MS = 15 * 60_000;
const NAME_LENGTH = 80;
/**
 * 256 random bits. A token is 43 characters of base64url. The last character has only four of the bits, so it is never
 * `-` or `_`.
 */
const TOKEN = /^[A-Za-z0-9_-]{43}$/;

/** Returns a new secret for a link or a cookie, in base64url. The database stores only the digest of the secret. */
export function newToken(): string {
  return randomSecret(32).toString('base64url');
}

/** Returns the SHA-256 digest of a secret, in hex. Returns undefined if the text has not the form of such a secret. */
export function digestOfToken(token: string): string | undefined {
  return TOKEN.test(token) ? hash('sha256', token, 'hex') : undefined;
}

/**
 * Returns the name as it is stored, or undefined if it is not one visible line of 1 to 80 characters. The NFC and NFD
 * forms of a name are the same name, so that "sign out everywhere" finds every session.
 */
export function nameOfOperator(typed: string): string | undefined {
  const name = typed.trim().normalize('NFC');
  return isName(NAME_LENGTH, name) ? name : undefined;
}

/**
 * Makes a sign-in link for the operator's name and returns its whole address.
 * @throws StorageUnavailable
 */
export async function makeLink(
  storage: Storage,
  { name, now, baseUrl }: { name: string; now: Date; baseUrl: string },
): Promise<string> {
  const token = newToken();
  const link = {
    digest: digestOfToken(token) ?? '',
    name,
    mailed: 0 as const,
    page: null,
    created_at: isoTime(now.getTime()),
    expires_at: isoTime(now.getTime() + LIFETIME_MS),
    used_at: null,
  };
  await storage.write(async (tx) => {
    await tx.insertInto('operator_links').values(link).execute();
  });
  return baseUrl + pathTo(routes.signInPage, { token });
}
