/** Gives each request an id, a log line and a measurement, without anything that the caller sent. */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { parseTraceparent } from '../http/request.ts';
import { stopwatch } from '../platform/clock.ts';
import type { InFlight } from '../platform/in-flight.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { Connections } from './connections.ts';
import { hasProblemDetails, pathOf } from './page-or-json.ts';

/** The status that nginx logs if the client closed the connection before the answer. */
const CLIENT_CLOSED = 499;

/**
 * Observes a request. Returns false if too many requests wait on the connection. In that case the request gets no
 * answer.
 */
type Observe = (request: FastifyRequest, reply: FastifyReply) => boolean;

/** A request whose answer is not completely sent. `route` is the path of its route, or `unknown`. */
export type Answering = { response: ServerResponse; route: string };

type ObservationParts = {
  /** The headers of every answer. A route can replace one. */
  sameOnEvery: Record<string, string>;
  connections: Connections;
  metrics: Pick<Metrics, 'observeRequest'>;
  log: Log;
  answering: InFlight<Answering>;
  isDraining(): boolean;
  onDraining(callback: () => void): void;
};

/** Registers the observation of every request. Returns the function that observes a request which reaches no hook. */
export function registerObservation(app: FastifyInstance, parts: ObservationParts): Observe {
  const { sameOnEvery, connections, metrics, log, answering, isDraining, onDraining } = parts;
  // Without keep-alive, a proxy opens its next connection to another instance, and a busy connection does not delay the
  // drain.
  onDraining(() => {
    for (const { response } of answering.all()) response.shouldKeepAlive = false;
  });
  const negotiated = { ...sameOnEvery, vary: 'Accept' };
  const observe: Observe = (request, reply) => {
    const startedAt = stopwatch();
    const tracked = connections.trackRequest(reply.raw, request.id);
    if (tracked === undefined) return false;
    const route = request.routeOptions.url ?? 'unknown';
    const ended = answering.add({ response: reply.raw, route });
    if (isDraining()) reply.raw.shouldKeepAlive = false;
    // The route of a preflight matches every path.
    const path = route === 'unknown' || route === '*' ? pathOf(request.url) : route;
    reply.headers(hasProblemDetails(path) ? negotiated : sameOnEvery).header('x-request-id', request.id);
    if (request.method === 'OPTIONS') reply.header('cache-control', 'no-store');
    // `onResponse` never runs if the client has closed the connection.
    reply.raw.on('close', () => {
      ended();
      tracked.end();
      const ms = stopwatch() - startedAt;
      const status = tracked.request.brokenStatus ?? (reply.raw.headersSent ? reply.statusCode : CLIENT_CLOSED);
      const traceId = parseTraceparent(request.headers.traceparent)?.traceId;
      metrics.observeRequest(request.method, route, status, ms / 1000);
      const { id: requestId, method } = request;
      log.info({ requestId, method, route, status, ms: Math.round(ms * 10) / 10, traceId }, 'request');
    });
    return true;
  };
  app.addHook('onRequest', (request, reply, done) => {
    if (observe(request, reply)) done();
    else reply.hijack();
  });
  // The service ignores other expectations than `100-continue`, which RFC 9110 §10.1.1 allows.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response));
  return observe;
}
