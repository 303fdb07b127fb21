/**
 * The upstream over HTTP, signed by Standard Webhooks (contract §3). Only the status decides, and
 * `Retry-After` of a 429; of a body at most 64 KB are read and no end is waited for.
 */
import { createHmac } from 'node:crypto';
import type { buildConnector, Dispatcher, Pool } from 'undici';
import type { Clock } from '../clock.ts';
import { sharedLookup } from '../lookup.ts';
import { once, require } from '../once.ts';
import { withoutContinue } from './interim.ts';
import { outcomeOf, parseHttpDate } from './outcome.ts';
import type { Delivery, Outcome, RemoteUpstream, Sent } from './upstream.ts';

/**
 * Loaded after the start. The pool alone: the whole package is four times as much to load and to keep. What
 * makes its connections is a part of it.
 */
const undiciLoaded = once((): { Pool: typeof Pool; connectorOf: typeof buildConnector } => ({
  Pool: require('undici/lib/dispatcher/pool.js'),
  connectorOf: require('undici/lib/core/connect.js'),
}));

const BODY_MAXIMUM_BYTES = 64 * 1024;
const BODY_MAXIMUM_MS = 1_000;

/** A refused connection may be a restart of the other side: time for it, and nobody notices. */
const SECOND_TRY_MS = 500;

/** How many sends may be under way at once; more wait, and give up with their lease. */
const CONNECTIONS = 128;

/**
 * HTTP/1.1 alone: there one request is under way on a connection, and what has begun is never sent again. Over
 * HTTP/2 undici repeats by itself what a receiver refuses to process, after it has left (contract §4, the fence).
 */
const ALLOW_H2 = false;

/** What an exchange is ended with whose outcome is settled: nobody is told. */
const GIVEN_UP = new Error('The exchange was given up.');

export type HttpUpstreamOptions = {
  url: string;
  /** The decoded `whsec_` key; undefined: unsigned. */
  secret: Buffer | undefined;
  /** From the start of a send to the status of its answer, in milliseconds. */
  timeoutMs: number;
  clock: Clock;
};

/** Opens the pool of connections; nothing is sent until something is delivered. */
export function openHttpUpstream(options: HttpUpstreamOptions): RemoteUpstream {
  const { origin, pathname, search } = new URL(options.url);
  let pool: Pool | undefined;
  return {
    embedded: false,
    deliver: ({ id, type, body }, delivery) => {
      const headers = {
        ...signedHeaders(id, body, options.clock.now(), options.secret),
        traceparent: delivery.traceparent,
      };
      const request = { path: `${pathname}${search}`, method: 'POST' as const, headers, body };
      try {
        pool ??= new (undiciLoaded().Pool)(origin, {
          connections: CONNECTIONS,
          allowH2: ALLOW_H2,
          connect: connector(options.timeoutMs),
        });
      } catch {
        const reason = 'The HTTP client could not be loaded.';
        return Promise.resolve({ kind: 'unconfirmed', reason, unsent: true });
      }
      return send(pool, request, type, delivery, options);
    },
    prepare: () => void undiciLoaded(),
    close: async () => pool?.destroy(),
  };
}

/** Undici's own, with sockets from which it reads no `100 Continue`. */
function connector(timeout: number): buildConnector.connector {
  const connect = undiciLoaded().connectorOf({
    timeout,
    allowH2: ALLOW_H2,
    lookup: sharedLookup(),
  });
  return (options, callback) =>
    connect(options, (...[error, socket]) => {
      if (error !== null) callback(error, null);
      else callback(null, withoutContinue(socket));
    });
}

/** The headers of Standard Webhooks, and the idempotency key that equals its id. */
function signedHeaders(id: string, body: string, now: Date, secret: Buffer | undefined) {
  const timestamp = Math.floor(now.getTime() / 1000);
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(timestamp),
    'idempotency-key': id,
  };
  if (secret !== undefined) {
    const signature = createHmac('sha256', secret).update(`${id}.${timestamp}.${body}`);
    headers['webhook-signature'] = `v1,${signature.digest('base64')}`;
  }
  return headers;
}

function send(
  pool: Pool,
  request: Dispatcher.DispatchOptions,
  event: Sent['type'],
  delivery: Delivery,
  { timeoutMs, clock }: HttpUpstreamOptions,
): Promise<Outcome> {
  return new Promise((resolve) => {
    let controller: Dispatcher.DispatchController | undefined;
    let unsent = true;
    let tried = false;
    let received = 0;
    let settled = false;
    const settle = (outcome: Outcome) => {
      settled = true;
      callOff();
      resolve(outcome);
    };
    let stopReading = () => {};
    const unconfirmed = (reason: string) =>
      settle({ kind: 'unconfirmed', reason, ...(unsent && { unsent }) });
    // One timer for everything: waiting for a connection, connecting, sending and the answer.
    const callOff = clock.after(timeoutMs, () => {
      unconfirmed('The upstream did not answer in time.');
      controller?.abort(GIVEN_UP);
    });

    const options = { ...request, headersTimeout: 0, bodyTimeout: timeoutMs };
    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(started) {
        controller = started;
        // The connection stands and the first byte is written next: the fence (contract §4).
        if (!settled && delivery.mayStart()) {
          unsent = false;
          return;
        }
        unconfirmed('The lease left no time to send.');
        started.abort(GIVEN_UP);
      },
      onResponseStart(started, status, headers) {
        if (status < 200) return;
        delivery.heardTime?.(parseHttpDate(String(headers.date)));
        const retryAfter = headers['retry-after'];
        const first = Array.isArray(retryAfter) ? retryAfter[0] : retryAfter;
        settle(outcomeOf(event, status, first, clock.now()));
        // The status has decided: what trickles after it must not keep the connection from others.
        stopReading = clock.after(BODY_MAXIMUM_MS, () => started.abort(GIVEN_UP));
      },
      onResponseData(started, chunk) {
        received += chunk.length;
        if (received > BODY_MAXIMUM_BYTES) started.abort(GIVEN_UP);
      },
      onResponseEnd() {
        stopReading();
      },
      onResponseError(_controller, error) {
        stopReading();
        if (unsent && !settled && !tried) {
          tried = true;
          // Slept for: in a command nothing else may keep the process alive until then.
          void clock.sleep(SECOND_TRY_MS).then(() => settled || pool.dispatch(options, handler));
          return;
        }
        unconfirmed(`The upstream could not be asked: ${codeOf(error)}.`);
      },
    };
    pool.dispatch(options, handler);
  });
}

/** The code of an error alone: its message may name addresses and hosts. */
function codeOf(error: Error & { code?: unknown }): string {
  return typeof error.code === 'string' ? error.code : error.name;
}
