/** Whether a button was pressed on a page of ours, and what its form sent (beyond §4, §7). */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { headerLines } from './headers.ts';
import { decodeUtf8, mediaType } from './read-body.ts';

export type JudgedPress = {
  /** False where the browser says that another site made it. */
  isFromOurPage: boolean;
  /** It says of itself that it is automated (Web Bot Auth). */
  isSigned: boolean;
};

/** Takes a request and our own origin. `Sec-Fetch-Site` alone decides where it is there (beyond §4). */
export function judgePress(request: IncomingMessage, origin: string): JudgedPress {
  const isSigned = headerLines(request, 'signature-agent').length > 0;
  const sites = headerLines(request, 'sec-fetch-site');
  if (sites.length > 0) {
    return { isFromOurPage: sites.every((site) => site === 'same-origin'), isSigned };
  }
  const origins = headerLines(request, 'origin');
  return { isFromOurPage: origins.length === 1 && origins[0] === origin, isSigned };
}

/** What reads a name of the form that was sent, null unless it came once; undefined where it is no such form. */
export function sentForm(
  headers: IncomingHttpHeaders,
  bytes: Buffer,
): ((name: string) => string | null) | undefined {
  const type = mediaType(headers['content-type'])?.essence;
  if (type !== 'application/x-www-form-urlencoded') return undefined;
  const text = decodeUtf8(bytes);
  if (text === undefined) return undefined;
  const sent = new URLSearchParams(text);
  return (name) => (sent.getAll(name).length === 1 ? sent.get(name) : null);
}
