/** The HTTP application: every route, its section and its group. */
import type { ServerResponse } from 'node:http';
import cors from '@fastify/cors';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { registerActions } from './actions/routes.ts';
import { newId } from './chance.ts';
import { stopwatch } from './clock.ts';
import { registerOpenapi } from './discovery/openapi/openapi.ts';
import { referencePage, registerReference } from './discovery/reference/routes.ts';
import { registerDiscovery } from './discovery/routes.ts';
import { parseTraceparent } from './http/headers.ts';
import { registerIntake } from './intake/routes.ts';
import type { Parts } from './parts.ts';
import { begin, brokenRequestAnswerer, refuseTunnels } from './server/broken-requests.ts';
import { registerFallbacks } from './server/fallbacks.ts';
import { registerHealth } from './server/health.ts';
import { rateTaker } from './server/limiting.ts';
import { NO_COMPILERS } from './server/no-compilers.ts';
import { isDiscovery, isMirror, pathOf } from './server/page-or-json.ts';
import { responseWith } from './server/response-with.ts';
import { securityHeaders } from './server/security-headers.ts';
import { openUnderWay } from './server/under-way.ts';
import type { Settings } from './settings/settings.ts';
import { problemPageRenderer } from './site/error-page.ts';
import { registerSite } from './site/routes.ts';
import { registerWellKnown } from './site/well-known.ts';

/** Contract §4, "Slow and broken requests". */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_MS = 1_000;

/** What nginx logs where there was nobody left to answer. */
const CLIENT_LEFT = 499;

/** Takes the settings and the opened parts; returns the application, ready to listen. */
export async function buildApp(settings: Settings, parts: Parts): Promise<FastifyInstance> {
  const sameOnEvery = securityHeaders(settings.baseUrl.startsWith('https:'));
  const renderProblemPage = problemPageRenderer({ operator: settings.operator, ...parts });
  const answerBroken = brokenRequestAnswerer({ renderProblemPage, log: parts.log }, sameOnEvery);
  const app: FastifyInstance = fastify({
    logger: false, // its own would cost a child of the logger for each request
    requestIdHeader: false,
    genReqId: newId,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      optimizeEmptyRequests: true, // a tenth of a GET
      ServerResponse: responseWith(sameOnEvery),
      requireHostHeader: false, // the fallbacks refuse it, with a request id
    },
    clientErrorHandler: answerBroken,
    // An address that can't be decoded finds no route, and so no hook.
    frameworkErrors: (_error, request, reply) => {
      observe(request, reply);
      answerProblem(request, reply, 'badRequest');
    },
    // Headers have 16 KB in all: no address is too long for the router.
    routerOptions: { maxParamLength: 16_384 },
    forceCloseConnections: 'idle',
    return503OnClosing: false, // the fallbacks do, with a request id
    schemaController: { compilersFactory: NO_COMPILERS },
  });

  // A body is raw bytes until its chain asks for it.
  for (const method of app.supportedMethods) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  refuseTunnels(app.server, answerBroken);

  const observe = registerObservation(app, parts);
  const answerProblem = registerFallbacks(app, { renderProblemPage, ...parts });
  const facts = {
    baseUrl: settings.baseUrl,
    operatorName: settings.operator.name,
    forms: parts.forms,
  };
  const openapi = registerOpenapi(app, facts);

  const takeFromLimit = rateTaker(parts.limits, settings.trustProxy, {
    clock: parts.clock,
    log: parts.log,
    countIgnoredForwardedFor: parts.metrics.countIgnoredForwardedFor,
  });

  registerActions(app, { ...parts, takeFromLimit }); // spec §4.3, §4.4
  await app.register(async (shared) => {
    // Also the preflights of discovery, whose own answers say by themselves that anybody may read them.
    await shared.register(cors, () => corsOf(settings));
    registerIntake(shared, { ...parts, takeFromLimit, renderProblemPage }); // spec §4.6, §4.7
  });
  registerDiscovery(app, {
    ...facts,
    openapi,
    pages: parts.pages,
    receiptRetentionDays: settings.receiptRetentionDays,
    ...(settings.contractor === undefined ? {} : { contractorName: settings.contractor.name }),
  }); // spec §4.1, §4.2
  registerSite(app, parts); // contract §4, "Other routes"
  registerReference(app, { settings, frame: parts.frame, openapi });
  registerWellKnown(app, { ...settings, ...parts, pages: () => [...parts.pages(), referencePage] });
  registerHealth(app, parts);
  return app;
}

/** Who may read the answers from another origin's page: everybody on discovery (contract §4). */
function corsOf(settings: Settings) {
  return (
    request: FastifyRequest,
    done: (error: Error | null, options: { origin: string | string[] | false }) => void,
  ) => {
    // Without these two it is no preflight, but a method that the path does not take.
    const { origin, 'access-control-request-method': wanted } = request.headers;
    if (request.method === 'OPTIONS' && (origin === undefined || wanted === undefined)) {
      done(null, { origin: false });
      return;
    }
    // A form's own route says where it is; a preflight's takes every path.
    const route = request.routeOptions.url;
    const path = route === undefined || route === '*' ? pathOf(request.url) : route;
    if (path === '/api/leads' || path === '/api/subscribe') {
      done(null, { origin: settings.allowedOrigins });
    } else {
      done(null, { origin: isDiscovery(path) || isMirror(path) ? '*' : false });
    }
  };
}

/** A request id, one log line a request, one measurement. Nothing the caller sent. */
function registerObservation(
  app: FastifyInstance,
  {
    metrics,
    log,
    isDraining,
    onDraining,
  }: Pick<Parts, 'metrics' | 'log' | 'isDraining' | 'onDraining'>,
) {
  const underWay = openUnderWay<ServerResponse>();
  // A proxy takes the next connection elsewhere, and a busy one does not hold the drain up.
  onDraining(() => {
    for (const response of underWay.all()) response.shouldKeepAlive = false;
  });
  const observe = (request: FastifyRequest, reply: FastifyReply): void => {
    const startedAt = stopwatch();
    const begun = begin(reply.raw, request.id);
    const ended = underWay.add(reply.raw);
    if (isDraining()) reply.raw.shouldKeepAlive = false;
    reply.header('x-request-id', request.id);
    if (request.method === 'OPTIONS') reply.header('cache-control', 'no-store');
    // Not `onResponse`: of a client that left no answer is ever finished.
    reply.raw.on('close', () => {
      ended();
      const route = request.routeOptions.url ?? 'unknown';
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
  };
  app.addHook('onRequest', (request, reply, done) => {
    observe(request, reply);
    done();
  });
  // An expectation that is not `100-continue` is left unmet, which RFC 9110 §10.1.1 allows.
  app.server.on('checkExpectation', (request, response) =>
    app.server.emit('request', request, response),
  );
  return observe;
}
