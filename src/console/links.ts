/** Sign-in links, which work once, and the secrets of links and cookies (reference §12.2). */
import { hash } from 'node:crypto';
import { isName } from '../forms/names.ts';
import { isoTime } from '../platform/clock.ts';
import { randomSecret } from '../platform/random.ts';
import { pathTo, routes } from '../routes.ts';
import type { Storage } from '../storage/database.ts';
import type { OperatorLinkRow } from '../storage/operation-schema.ts';

/** Reference §12.2. */
export const LINK_LIFETIME_MS = 15 * 60_000;
const NAME_LENGTH = 80;
/**
 * 128 random bits. A token is 22 characters of base64url, so that a link fits on a line of a terminal. The last
 * character has only two of the bits, so it is never `-` or `_`.
 */
const TOKEN = /^[A-Za-z0-9_-]{22}$/;

/** Returns a new secret for a link or a cookie, in base64url. The database stores only the digest of the secret. */
export function newToken(): string {
  return randomSecret(16).toString('base64url');
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

type NewLink = Pick<OperatorLinkRow, 'name' | 'mailed' | 'message' | 'page'> & { now: Date; baseUrl: string };

/** Returns the whole address of a new link, and its row. The link signs nobody in before its row is stored. */
export function newLink({ now, baseUrl, ...link }: NewLink): { url: string; row: OperatorLinkRow } {
  const token = newToken();
  const row = {
    ...link,
    digest: digestOfToken(token) ?? '',
    created_at: isoTime(now.getTime()),
    expires_at: isoTime(now.getTime() + LINK_LIFETIME_MS),
    used_at: null,
  };
  return { url: baseUrl + pathTo(routes.signInPage, { token }), row };
}

/**
 * Makes a link that a command prints, for the operator's name, and returns its whole address.
 * @throws StorageUnavailable
 */
export async function makeLink(
  storage: Storage,
  printed: { name: string; now: Date; baseUrl: string },
): Promise<string> {
  const { url, row } = newLink({ ...printed, mailed: 0, message: null, page: null });
  await storage.write(async (tx) => {
    await tx.insertInto('operator_links').values(row).execute();
  });
  return url;
}
