/** Builds the HTTP application, and registers every group of `routes.ts`. */
import fastify, { type FastifyInstance } from 'fastify';
import { registerActions } from './actions/routes.ts';
import type { Parts } from './compose.ts';
import { registerConfirmationPage, registerConfirmations } from './confirmations/routes.ts';
import { consoleOpener, registerConsole, signedInCheck } from './console/routes.ts';
import { registerDiscovery } from './discovery/routes.ts';
import { registerIntake } from './intake/routes.ts';
import { registerMcp } from './mcp/routes.ts';
import { registerNewsletter } from './newsletter/routes.ts';
import { connectEndpoint, oauthOpener, registerOauth } from './oauth/routes.ts';
import { newId, randomSecret } from './platform/random.ts';
import { registerReceipts } from './receipts/routes.ts';
import { brokenRequestAnswerer, openConnections, refuseTunnels } from './server/connections.ts';
import { registerToolCors, registerWithCors, toolOriginCheck } from './server/cors.ts';
import { openKnownPaths, registerFallbacks } from './server/fallbacks.ts';
import { registerHealth } from './server/health.ts';
import { bodyTaker, clientReader, rateGiver, rateTaker } from './server/rate-limits.ts';
import { registerObservation } from './server/request-log.ts';
import { securityHeaders } from './server/security-headers.ts';
import type { Settings } from './settings/settings.ts';
import { problemPageRenderer } from './site/error-page.ts';
import { registerSite, registerWellKnown } from './site/routes.ts';

/** Time limits of a request (reference §3.5). */
const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const TIMEOUT_CHECK_MS = 1_000;

/**
 * Replaces Fastify's schema compilers, because no route has a schema. The compilers are a tenth of what a start loads.
 */
function noSchema(): never {
  throw new Error('A route has a schema.');
}

/** Returns the application, ready to listen. */
export async function buildApp(settings: Settings, parts: Parts): Promise<FastifyInstance> {
  const { inline } = parts;
  const sameOnEvery = securityHeaders({ https: settings.baseUrl.startsWith('https:'), inline });
  const renderProblemPage = problemPageRenderer({ operator: settings.operator, ...parts });
  const connections = openConnections(parts.clock);
  const { baseUrl } = settings;
  const answerParts = { connections, sameOnEvery, renderProblemPage, baseUrl, ...parts };
  const answerBroken = brokenRequestAnswerer(answerParts);
  const knownPaths = openKnownPaths();
  const app: FastifyInstance = fastify({
    logger: false, // Fastify's logger would make a child logger for each request
    requestIdHeader: false,
    genReqId: newId,
    requestTimeout: REQUEST_TIMEOUT_MS,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: TIMEOUT_CHECK_MS,
      optimizeEmptyRequests: true, // saves a tenth of the time of a GET
      requireHostHeader: false, // the fallbacks refuse a request without `Host`, with a request id
    },
    clientErrorHandler: answerBroken,
    // No route and no hook run for an address that cannot be decoded.
    frameworkErrors: (_error, request, reply) => {
      if (observe(request, reply)) answerProblem(request, reply, 'badRequest');
    },
    rewriteUrl: knownPaths.rewriteUrl,
    // Headers have at most 16 KB, so no address is too long for the router.
    routerOptions: { maxParamLength: 16_384 },
    forceCloseConnections: 'idle',
    exposeHeadRoutes: false, // `at` names GET and HEAD, because separate HEAD routes need a twentieth of a start
    return503OnClosing: false, // the fallbacks answer 503, with a request id
    schemaController: { compilersFactory: { buildValidator: noSchema, buildSerializer: noSchema } },
  });

  app.decorate('baseUrl', baseUrl);
  // Handlers read the raw body themselves.
  for (const method of app.supportedMethods) {
    app.addHttpMethod(method, { hasBody: false, overrideExisting: true });
  }
  refuseTunnels(app.server, answerBroken);

  knownPaths.watch(app);
  const observe = registerObservation(app, answerParts);
  const isToolOrigin = toolOriginCheck(settings);
  if (settings.mcp === 'on') registerToolCors(app, isToolOrigin);
  const openConsole = settings.operatorConsole === 'on' ? consoleOpener({ ...parts, settings }) : undefined;
  const answerProblem = registerFallbacks(app, {
    renderProblemPage,
    knownPaths,
    isSignedIn: openConsole && signedInCheck(openConsole),
    ...parts,
  });

  const facts = {
    baseUrl: settings.baseUrl,
    operatorName: settings.operator.name,
    contractorName: settings.contractor?.name,
    forms: parts.forms,
    mcp: settings.mcp,
    oauth: settings.oauth,
    confirmationMinimum: settings.confirmationMinimum,
  };
  const clientOf = clientReader(settings.trustProxy);
  const takeFromLimit = rateTaker(clientOf, parts);
  const takeBody = bodyTaker(clientOf, parts.clock);
  const agentParts = {
    ...parts,
    baseUrl: settings.baseUrl,
    operator: settings.operator,
    confirmationMinimum: settings.confirmationMinimum,
    mailsCodes: parts.outbox !== undefined,
    takeFromLimit,
    takeBody,
  };
  registerActions(app, agentParts);
  registerConfirmations(app, agentParts);
  registerConfirmationPage(app, agentParts);
  await registerWithCors(app, settings.allowedOrigins, (shared) =>
    registerIntake(shared, { ...parts, takeFromLimit, takeBody, renderProblemPage }),
  );
  registerNewsletter(app, agentParts);
  registerDiscovery(app, {
    ...facts,
    settings,
    frame: parts.frame,
    pages: parts.pages,
    receiptRetentionDays: settings.receiptRetentionDays,
  });
  registerReceipts(app, { ...parts, takeFromLimit });
  const oauthParts = { ...parts, settings, randomSecret };
  const openOauth = settings.oauth === 'on' ? oauthOpener(oauthParts) : undefined;
  if (openOauth !== undefined) {
    const giveBack = rateGiver(clientOf, parts.limits);
    registerOauth(app, { ...oauthParts, openOauth, takeFromLimit, giveBack, takeBody });
  }
  if (settings.mcp === 'on') {
    const connect = openOauth && connectEndpoint(openOauth, settings.baseUrl);
    registerMcp(app, { ...agentParts, facts, configuration: settings, isToolOrigin, connect });
  }
  if (openConsole !== undefined) {
    registerConsole(app, { ...parts, openConsole, takeFromLimit, takeBody });
  }
  registerSite(app, parts);
  registerWellKnown(app, { ...settings, ...parts });
  registerHealth(app, parts);
  return app;
}
