/** Who calls, with which scopes: the bearer credential of a request (spec §5, RFC 6750). */
import type { Credentials } from './file.ts';
import { digestOfToken } from './tokens.ts';

export type Caller =
  | { kind: 'client'; name: string; scopes: ReadonlySet<string> }
  | { kind: 'missing' }
  | { kind: 'invalid' };

/** A token counts by its digest, whatever its shape (contract §2). */
const BEARER = /^bearer (.+)$/i;

/** Of the spaces around a token, those behind it are gone: Node takes them off a header's value. */
const LEADING_SPACES = /^ +/;

/** Takes every `Authorization` line of a request; two of them are invalid (contract §4). */
export function checkBearer(credentials: Credentials, lines: readonly string[]): Caller {
  const [line, second] = lines;
  if (line === undefined) return { kind: 'missing' };
  if (second !== undefined) return { kind: 'invalid' };
  const token = BEARER.exec(line)?.[1]?.replace(LEADING_SPACES, '') ?? '';
  if (token === '') return { kind: 'invalid' };
  // Node gives a header one character for each byte.
  const client = credentials.find(digestOfToken(Buffer.from(token, 'latin1')));
  if (client === undefined) return { kind: 'invalid' };
  return { kind: 'client', name: client.name, scopes: client.scopes };
}
