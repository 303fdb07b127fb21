/** Who calls, with which scopes: the bearer credential of a request (spec §5, RFC 6750). */
import type { Credentials } from './file.ts';
import { digestOfToken } from './tokens.ts';

export type Caller =
  | { kind: 'client'; name: string; scopes: ReadonlySet<string> }
  | { kind: 'missing' }
  | { kind: 'invalid' };

/** Any visible ASCII: a token counts by its digest, whatever its shape (contract §2). */
const BEARER = /^bearer +([\x21-\x7e]+) *$/i;

/** Takes every `Authorization` line of a request; two of them are invalid (contract §4). */
export function checkBearer(credentials: Credentials, lines: readonly string[]): Caller {
  const [line, second] = lines;
  if (line === undefined) return { kind: 'missing' };
  if (second !== undefined) return { kind: 'invalid' };
  const token = BEARER.exec(line)?.[1];
  if (token === undefined) return { kind: 'invalid' };
  const client = credentials.find(digestOfToken(token));
  return client === undefined ? { kind: 'invalid' } : { kind: 'client', ...client };
}
