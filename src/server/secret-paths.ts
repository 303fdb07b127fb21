/**
 * Reads secrets at the end of addresses. People paste these addresses, and other programs turn them into links
 * (reference §3.10).
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Route } from '../route-groups.ts';
import { at, pathTo } from '../routes.ts';
import { isRead } from './page-or-json.ts';

/** Punctuation that programs add to an address or omit from it. Each of these characters is one UTF-16 code unit. */
const PUNCTUATION = /[.,;:!)\]>*_\u200b\p{Quotation_Mark}]/u;

const BASE64URL = /^[A-Za-z0-9_-]+$/;

/**
 * Returns the first `length` characters of base64url text. If the last character is `-` or `_`, the next letter or
 * digit of the text takes its place. The reason is that Markdown leaves a final `_` out of a link.
 */
export function linkSecretIn(text: string, length: number): string {
  const last = text.slice(length - 1).replaceAll(/[-_]/g, '');
  return text.slice(0, length - 1) + last.charAt(0);
}

/** Returns the secret without punctuation at its end, or the value as it is if the rest is no secret. */
function withoutPunctuation(value: string): string {
  let end = value.length;
  while (end > 0 && PUNCTUATION.test(value.charAt(end - 1))) end -= 1;
  const secret = value.slice(0, end);
  return BASE64URL.test(secret) ? secret : value;
}

/**
 * Returns a route for the router. If punctuation follows its secret, GET and HEAD redirect to the clean address, and the
 * handler of another method gets the clean secret.
 */
export function atSecret(route: Route) {
  const onRequest = (request: FastifyRequest, reply: FastifyReply, done: () => void): void => {
    const values = request.params as Record<string, string>;
    const clean = Object.fromEntries(Object.entries(values).map(([name, value]) => [name, withoutPunctuation(value)]));
    const location = pathTo(route, clean);
    if (isRead(request.method) && location !== pathTo(route, values)) {
      reply.code(303).headers({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex', location }).send();
      return;
    }
    request.params = clean;
    done();
  };
  return { ...at(route), onRequest };
}
