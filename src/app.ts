/** The HTTP application: built, observed, then each group of the list in `routes.ts` registered. */
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { registerActions } from './actions/routes.ts';
import { newId } from './chance.ts';
import { registerConfirmations, registerPress } from './confirmations/routes.ts';
import { consoleOpener, isOfConsole, registerConsole, signedInCheck } from './console/routes.ts';
import { agentsDocument, openapiDocument } from './discovery/openapi/openapi.ts';
import { registerReference } from './discovery/reference/routes.ts';
import { registerDiscovery } from './discovery/routes.ts';
import { registerIntake } from './intake/routes.ts';
import { registerMcp } from './mcp/routes.ts';
import { registerNewsletter } from './newsletter/routes.ts';
import type { Parts } from './parts.ts';
import { registerReceipts } from './receipts/routes.ts';
import { brokenRequestAnswerer, refuseTunnels } from './server/broken-requests.ts';
import { registerWithCors } from './server/cors.ts';
import { registerFallbacks } from './server/fallbacks.ts';
import { registerHealth } from './server/health.ts';
import { rateTaker } from './server/limiting.ts';
import { NO_COMPILERS } from './server/no-compilers.ts';
import { registerObservation } from './server/observation.ts';
import { bodyTaker } from './server/refused-bodies.ts';
import { responseWith } from './server/response-with.ts';
import { securityHeaders } from './server/security-headers.ts';
import type { Settings } from './settings/settings.ts';
import { problemPageRenderer } from './site/error-page.ts';
import { registerSite, registerWellKnown } from './site/routes.ts';

/** Contract §4, "Slow and broken requests". */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_MS = 1_000;

/** Takes the settings and the opened parts; returns the application, ready to listen. */
export async function buildApp(settings: Settings, parts: Parts): Promise<FastifyInstance> {
  const { inline } = parts;
  const sameOnEvery = securityHeaders({ https: settings.baseUrl.startsWith('https:'), inline });
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
      if (observe(request, reply)) answerProblem(request, reply, 'badRequest');
    },
    // Headers have 16 KB in all: no address is too long for the router.
    routerOptions: { maxParamLength: 16_384 },
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false, // `at` names both methods: a second route of each costs a twentieth of a start
    return503OnClosing: false, // the fallbacks do, with a request id
    schemaController: { compilersFactory: NO_COMPILERS },
  });

  // A body is raw bytes until its chain asks for it.
  for (const method of app.supportedMethods) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  refuseTunnels(app.server, answerBroken);

  const observe = registerObservation(app, parts);
  const othersWait = () => parts.answering.all().some(({ route }) => !isOfConsole(route));
  const openConsole =
    settings.operatorConsole === 'on'
      ? consoleOpener({ ...parts, settings, othersWait })
      : undefined;
  const answerProblem = registerFallbacks(app, {
    renderProblemPage,
    isSignedIn: openConsole && signedInCheck(openConsole),
    ...parts,
  });

  const facts = {
    baseUrl: settings.baseUrl,
    operatorName: settings.operator.name,
    contractorName: settings.contractor?.name,
    forms: parts.forms,
    mcp: settings.mcp,
    confirmationMinimum: settings.confirmationMinimum,
  };
  const openapi = openapiDocument(facts);
  const agentsOpenapi = agentsDocument(facts);
  const takeFromLimit = rateTaker(parts.limits, settings.trustProxy, {
    clock: parts.clock,
    log: parts.log,
    countIgnoredForwardedFor: parts.metrics.countIgnoredForwardedFor,
  });

  const takeBody = bodyTaker(settings.trustProxy, parts.clock);
  const acting = {
    ...parts,
    baseUrl: settings.baseUrl,
    operator: settings.operator,
    confirmationMinimum: settings.confirmationMinimum,
    mailsCodes: parts.outbox !== undefined,
    takeFromLimit,
    takeBody,
  };
  registerActions(app, acting);
  registerConfirmations(app, acting);
  registerPress(app, acting);
  await registerWithCors(app, settings.allowedOrigins, (shared) =>
    registerIntake(shared, { ...parts, takeFromLimit, takeBody, renderProblemPage }),
  );
  registerNewsletter(app, acting);
  registerDiscovery(app, {
    ...facts,
    openapi,
    agentsOpenapi,
    pages: parts.pages,
    receiptRetentionDays: settings.receiptRetentionDays,
  });
  registerReceipts(app, { ...parts, takeFromLimit });
  if (settings.mcp === 'on') registerMcp(app, { ...acting, facts });
  if (openConsole !== undefined) {
    const answerNotFound = (request: FastifyRequest, reply: FastifyReply) =>
      answerProblem(request, reply, 'notFound');
    registerConsole(app, { openConsole, takeFromLimit, takeBody, log: parts.log, answerNotFound });
  }
  registerSite(app, parts);
  registerReference(app, { settings, frame: parts.frame, openapi });
  registerWellKnown(app, { ...settings, ...parts });
  registerHealth(app, parts);
  return app;
}
