/** A request id, one log line a request, one measurement. Nothing the caller sent. */
import type { ServerResponse } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Clock, stopwatch } from '../clock.ts';
import { parseTraceparent } from '../http/headers.ts';
import type { Log } from '../operations/log.ts';
import type { Metrics } from '../operations/metrics.ts';
import type { UnderWay } from '../operations/under-way.ts';
import { begin } from './broken-requests.ts';
import { openConnections } from './connections.ts';

/** What nginx logs where there was nobody left to answer. */
const CLIENT_LEFT = 499;

/** Whether the request may be answered: not where its connection keeps too many waiting. */
type Observe = (request: FastifyRequest, reply: FastifyReply) => boolean;

/** A request that has no whole answer yet, and the path of its route: `unknown` where there is none. */
export type Answering = { response: ServerResponse; route: string };

type ObservationParts = {
  clock: Clock;
  metrics: Pick<Metrics, 'observeRequest'>;
  log: Log;
  answering: UnderWay<Answering>;
  isDraining(): boolean;
  onDraining(callback: () => void): void;
};

/** Registers what observes every request; returns it for those that reach no hook. */
export function registerObservation(app: FastifyInstance, parts: ObservationParts): Observe {
  const { clock, metrics, log, answering, isDraining, onDraining } = parts;
  const connections = openConnections(clock);
  // A proxy takes the next connection elsewhere, and a busy one does not hold the drain up.
  onDraining(() => {
    for (const { response } of answering.all()) response.shouldKeepAlive = false;
  });
  const observe: Observe = (request, reply) => {
    const startedAt = stopwatch();
    const answered = connections.begin(reply.raw);
    if (answered === undefined) return false;
    const begun = begin(reply.raw, request.id);
    const route = request.routeOptions.url ?? 'unknown';
    const ended = answering.add({ response: reply.raw, route });
    if (isDraining()) reply.raw.shouldKeepAlive = false;
    reply.header('x-request-id', request.id);
    if (request.method === 'OPTIONS') reply.header('cache-control', 'no-store');
    // Not `onResponse`: of a client that left no answer is ever finished.
    reply.raw.on('close', () => {
      ended();
      answered();
      const ms = stopwatch() - startedAt;
      const status = begun.brokenStatus ?? (reply.raw.headersSent ? reply.statusCode : CLIENT_LEFT);
      const traceId = parseTraceparent(request.headers.traceparent)?.traceId;
      metrics.observeRequest(request.method, route, status, ms / 1000);
      log.info(
        {
          requestId: request.id,
          method: request.method,
          route,
          status,
          ms: Math.round(ms * 10) / 10,
          traceId,
        },
        'request',
      );
    });
    return true;
  };
  app.addHook('onRequest', (request, reply, done) => {
    if (observe(request, reply)) done();
    else reply.hijack();
  });
  // An expectation that is not `100-continue` is left unmet, which RFC 9110 §10.1.1 allows.
  app.server.on('checkExpectation', (request, response) =>
    app.server.emit('request', request, response),
  );
  return observe;
}
