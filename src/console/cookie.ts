/** The cookie of a session (beyond §7). */
import type { IncomingMessage } from 'node:http';
import { headerLines } from '../http/headers.ts';

const NAME = 'operator';

/** On https the prefix keeps other hosts and plain connections from setting it. */
const nameOn = (https: boolean) => (https ? `__Host-${NAME}` : NAME);

/** Its value; undefined where there is none, or more than one: then somebody else has set one as well. */
export function tokenIn(request: IncomingMessage, https: boolean): string | undefined {
  const start = `${nameOn(https)}=`;
  const found = headerLines(request, 'cookie')
    .flatMap((line) => line.split(';'))
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(start))
    .map((pair) => pair.slice(start.length));
  return found.length === 1 ? found[0] : undefined;
}

/** What sets it, for so many seconds; 0 takes it away. */
export function setCookie(token: string, { https, seconds }: { https: boolean; seconds: number }) {
  const secure = https ? '; Secure' : '';
  return `${nameOn(https)}=${token}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure}`;
}
