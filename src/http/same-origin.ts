/** Checks that a form was posted from a page of this service, and reads the form (reference §3.12). */
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { decodeUtf8, headerLines, mediaType } from './request.ts';

/**
 * Returns whether a post came from a page of this origin, and whether its sender declares itself automated (Web Bot
 * Auth). If `Sec-Fetch-Site` is present, `Origin` does not count (reference §3.12).
 */
export function checkSameOrigin(request: IncomingMessage, origin: string) {
  const sites = headerLines(request, 'sec-fetch-site');
  const origins = headerLines(request, 'origin');
  return {
    isFromOurPage:
      sites.length > 0 ? sites.every((site) => site === 'same-origin') : origins.length === 1 && origins[0] === origin,
    isSigned: headerLines(request, 'signature-agent').length > 0,
  };
}

/**
 * Returns the value of a name, or null unless the name came exactly once. `all` returns every value of the name, and
 * `values` has all names.
 */
export type SentForm = ((name: string) => string | null) & { all(name: string): string[]; values: URLSearchParams };

/** Reads the posted form. Returns undefined if the body is no urlencoded form. */
export function sentForm(headers: IncomingHttpHeaders, bytes: Buffer): SentForm | undefined {
  const type = mediaType(headers['content-type'])?.essence;
  if (type !== 'application/x-www-form-urlencoded') return undefined;
  const text = decodeUtf8(bytes);
  if (text === undefined) return undefined;
  const sent = new URLSearchParams(text);
  const one = (name: string) => (sent.getAll(name).length === 1 ? sent.get(name) : null);
  return Object.assign(one, { all: (name: string) => sent.getAll(name), values: sent });
}
