/**
 * Sends events to the upstream over HTTP, signed by Standard Webhooks (reference §10.1). Only the status and the
 * `Retry-After` of a 429 decide the outcome. The client reads at most 64 KB of a body and does not wait for its end.
 */
import { createHmac } from 'node:crypto';
import type { Socket } from 'node:net';
import { buildConnector, type Dispatcher, Pool } from 'undici';
import type { Clock } from '../platform/clock.ts';
import { sharedLookup } from '../platform/dns-lookup.ts';
import { userAgent } from '../project.ts';
import { withoutContinue } from './interim.ts';
import type { Delivery, Event, Outcome, RemoteUpstream, Sent } from './upstream.ts';

const BODY_MAXIMUM_BYTES = 64 * 1024;
const BODY_MAXIMUM_MS = 1_000;

/** Delay of the second try. A refused connection may be a restart of the receiver. */
const SECOND_TRY_MS = 500;

/** Maximum number of parallel sends. Further sends wait for a connection until their time limit. */
const CONNECTIONS = 128;

/**
 * HTTP/1.1 has one request at a time on a connection and never repeats a request. Over HTTP/2 undici automatically
 * repeats a request that the receiver refuses to process, and so bypasses the fence (reference §10.4 rule 3).
 */
const ALLOW_H2 = false;

/** Error that ends an exchange after its outcome is settled. No log and no caller gets this error. */
const ABORTED = new Error('The exchange was aborted.');

export type HttpUpstreamOptions = {
  url: string;
  /** The decoded `whsec_` keys. Each makes one signature. Without keys, events are unsigned. */
  secrets: readonly Buffer[];
  /** Headers of the operator (default: none). */
  headers?: readonly (readonly [name: string, value: string])[];
  /** Time limit from the start of a send until the status of the answer arrives, in milliseconds. */
  timeoutMs: number;
  /** Meaning of a 302 or 303 (default: unconfirmed). */
  redirect?: RedirectMeaning;
  clock: Clock;
};

/** Returns the upstream with a pool of connections. The first delivery opens a connection. */
export function openHttpUpstream(options: HttpUpstreamOptions): RemoteUpstream {
  const { origin, pathname, search } = new URL(options.url);
  const agent = userAgent();
  const own = Object.fromEntries(options.headers ?? []);
  const pool = new Pool(origin, {
    connections: CONNECTIONS,
    allowH2: ALLOW_H2,
    connect: connector(options.timeoutMs),
  });
  return {
    embedded: false,
    deliver: ({ id, type, body }, delivery) => {
      const headers = {
        ...own,
        'user-agent': agent,
        ...signedHeaders(id, body, options.clock.now(), options.secrets),
        traceparent: delivery.traceparent,
      };
      const request = { path: `${pathname}${search}`, method: 'POST' as const, headers, body };
      return send(pool, request, type, delivery, options);
    },
    close: () => pool.destroy(),
  };
}

/** Returns undici's own connector. Its connections hide `100 Continue` from undici. */
function connector(timeout: number): buildConnector.connector {
  const connect = buildConnector({ timeout, allowH2: ALLOW_H2, lookup: sharedLookup() });
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) callback(error, null);
      // Undici's type is a socket, but over HTTP/1.1 undici only needs a duplex stream.
      else callback(null, withoutContinue(socket) as Socket);
    });
}

/** Returns the headers of Standard Webhooks, and the id as the idempotency key. */
function signedHeaders(id: string, body: string, now: Date, secrets: readonly Buffer[]) {
  const timestamp = Math.floor(now.getTime() / 1000);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'idempotency-key': id,
  };
  if (secrets.length > 0) {
    // A receiver accepts any one of the signatures, so it can change its key without a gap.
    const signed = secrets.map((secret) => createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`));
    headers['webhook-signature'] = signed.map((signature) => `v1,${signature.digest('base64')}`).join(' ');
  }
  return headers;
}

function send(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  event: Sent['type'],
  delivery: Delivery,
  { timeoutMs, redirect, clock }: HttpUpstreamOptions,
): Promise<Outcome> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let unsent = true;
    let tried = false;
    let received = 0;
    let settled = false;
    const settle = (outcome: Outcome) => {
      settled = true;
      cancel();
      resolve(outcome);
    };
    let stopReading = () => {};
    const unconfirmed = (reason: string, code?: string) =>
      settle({ kind: 'unconfirmed', reason, ...(code && { code }), ...(unsent && { unsent }) });
    // One timer covers the wait for a connection, connecting, sending and the answer.
    const cancel = clock.after(timeoutMs, async () => {
      // A blocked event loop delays the timer, so an answer that waits in the socket is read first.
      await clock.turn();
      if (settled) return;
      unconfirmed('The upstream did not answer in time.');
      controller?.abort(ABORTED);
    });

    const options = { ...request, headersTimeout: 0, bodyTimeout: timeoutMs };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        // This is the fence: the connection is open, and undici writes the first byte next (reference §5.11).
        if (!settled && delivery.mayStart()) {
          unsent = false;
          return;
        }
        unconfirmed('The lease left no time to send.');
        started.abort(ABORTED);
      },
      onResponseStart(started, status, headers) {
        if (status < 200) return;
        delivery.onServerTime?.(parseHttpDate(String(headers.date)));
        const retryAfter = headers['retry-after'];
        const first = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
        settle(outcomeOf(event, status, first, clock.now(), redirect));
        // The status has decided the outcome. A slow body must not occupy the connection.
        stopReading = clock.after(BODY_MAXIMUM_MS, () => started.abort(ABORTED));
      },
      onResponseData(started, chunk) {
        received += chunk.length;
        if (received > BODY_MAXIMUM_BYTES) started.abort(ABORTED);
      },
      onResponseEnd() {
        stopReading();
      },
      onResponseError(_controller, error) {
        stopReading();
        if (unsent && !settled && !tried) {
          tried = true;
          // `sleep` keeps the process of a command alive, which `after` does not.
          void clock.sleep(SECOND_TRY_MS).then(() => settled || pool.dispatch(options, handler));
          return;
        }
        // The message of an error can contain addresses and hosts.
        const { code: own, name } = error as NodeJS.ErrnoException;
        const code = typeof own === 'string' ? own : name;
        unconfirmed(`The request to the upstream failed: ${code}.`, code);
      },
    };
    pool.dispatch(options, handler);
  });
}

const RETRY_AFTER_MAXIMUM_SECONDS = 86_400;

/** The current and the older date format, and the format of C's `asctime`, which omits GMT (RFC 9110 §5.6.7). */
const HTTP_DATE = /^[A-Z][a-z]+, \d\d[ -][A-Z][a-z]{2}[ -]\d{2,4} \d\d:\d\d:\d\d GMT$/;
const ASCTIME_DATE = /^[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4}$/;

/** Statuses that concern the service's access to the upstream, not the submission. */
const ABOUT_ACCESS: ReadonlySet<number> = new Set([401, 403, 404, 407, 408]);

/** `UPSTREAM_REDIRECT`: some receivers answer 302 or 303 to a POST that they have carried out (reference §10.3). */
type RedirectMeaning = 'unconfirmed' | 'confirmed';

/** Statuses of a redirect to the result of a POST (RFC 9110 §15.4). Other redirects repeat the POST elsewhere. */
const SEE_RESULT: ReadonlySet<number> = new Set([302, 303]);

/** Returns the outcome of the upstream's status (the table of reference §10.3). */
export function outcomeOf(
  event: Event['type'],
  status: number,
  retryAfter: string | undefined,
  now: Date,
  redirect: RedirectMeaning = 'unconfirmed',
): Outcome {
  if (status >= 200 && status <= 299) return { kind: 'confirmed', known: false, status };
  if (redirect === 'confirmed' && SEE_RESULT.has(status)) return { kind: 'confirmed', known: false, status };
  if (status === 409 && event !== 'lead.created') return { kind: 'confirmed', known: true, status };
  if (status === 429) return { kind: 'rateLimited', retryAfterSeconds: parseRetryAfter(retryAfter, now), status };
  if (status >= 400 && status <= 499 && !ABOUT_ACCESS.has(status)) return { kind: 'rejected', status };
  return { kind: 'unconfirmed', reason: `The upstream answered ${status}.`, status };
}

/** Reads seconds or an HTTP date. Returns 1 to 86,400 seconds, or 1 if the header is invalid (reference §10.3). */
function parseRetryAfter(header: string | undefined, now: Date): number {
  const text = header?.trim() ?? '';
  const seconds = /^\d+$/.test(text) ? Number(text) : Math.ceil((parseHttpDate(text) - now.getTime()) / 1000);
  return Number.isNaN(seconds) ? 1 : Math.min(Math.max(seconds, 1), RETRY_AFTER_MAXIMUM_SECONDS);
}

/** Returns the milliseconds since 1970 of a date in an HTTP format, or NaN for any other text. */
function parseHttpDate(text: string): number {
  if (ASCTIME_DATE.test(text)) return Date.parse(`${text} GMT`);
  return HTTP_DATE.test(text) ? Date.parse(text) : Number.NaN;
}
