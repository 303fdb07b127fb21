/** The table of contract §3: what an answer of the upstream means. */
import type { Event, Outcome } from './upstream.ts';

const RETRY_AFTER_MAXIMUM_SECONDS = 86_400;

/** RFC 9110 §5.6.7: the form of today, the older one, and C's `asctime`, which leaves GMT out. */
const HTTP_DATE = /^[A-Z][a-z]+, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** Statuses that speak of the service's own standing with the upstream, not of the client's request. */
const OWN_STANDING: ReadonlySet<number> = new Set([401, 403, 404, 407, 408]);

/** The table of contract §3: from the upstream's status to an outcome. */
export function outcomeOf(
  event: Event['type'],
  status: number,
  retryAfter: string | undefined,
  now: Date,
): Outcome {
  if (status >= 200 && status <= 299) return { kind: 'confirmed', known: false };
  if (status === 409 && event !== 'lead.created') return { kind: 'confirmed', known: true };
  if (status === 429) {
    return { kind: 'rateLimited', retryAfterSeconds: parseRetryAfter(retryAfter, now) };
  }
  if (status >= 400 && status <= 499 && !OWN_STANDING.has(status)) {
    return { kind: 'rejected', status };
  }
  return { kind: 'unconfirmed', reason: `The upstream answered ${status}.`, answered: true };
}

/** Seconds or an HTTP date; as whole seconds from 1 to 86,400, and 1 where it can't be read (contract §3). */
function parseRetryAfter(header: string | undefined, now: Date): number {
  const text = header?.trim() ?? '';
  const seconds = /^\d+$/.test(text)
    ? Number(text)
    : Math.ceil((parseHttpDate(text) - now.getTime()) / 1000);
  return Number.isNaN(seconds) ? 1 : Math.min(Math.max(seconds, 1), RETRY_AFTER_MAXIMUM_SECONDS);
}

/** Takes the value of a header; milliseconds, or NaN: of much else `Date.parse` makes a date, too. */
export function parseHttpDate(text: string): number {
  if (ASCTIME_DATE.test(text)) return Date.parse(`${text} GMT`);
  return HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
}
