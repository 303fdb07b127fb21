/** What answers when no route does: 404, 405, ambiguous requests, and errors nobody expected. */
import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerRefusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { forms } from '../forms/catalog.ts';
import { headerLines } from '../http/headers.ts';
import type { Log } from '../operations/log.ts';
import { pathsOf } from '../routes.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { isForm, pathOf, type RenderProblemPage, wantsPage } from './page-or-json.ts';

/** How a problem of no route's own is answered. */
export type AnswerProblem = (
  request: FastifyRequest,
  reply: FastifyReply,
  kind: ServerRefusal['kind'],
) => FastifyReply;

/** Readiness tells a proxy of a drain, so these routes are answered during one, too. */
const HEALTH = pathsOf('health');

/** Whoever is not signed in is told of none of these (beyond §7). */
const CONSOLE = pathsOf('console');

/** Of a path whose last part is a parameter alone. */
const OPEN_END = /\/:\w+$/;

/**
 * Registers the handlers; call it before any route, for it writes down which methods each path has.
 */
export function registerFallbacks(
  app: FastifyInstance,
  parts: {
    renderProblemPage: RenderProblemPage;
    isRefusing: () => boolean;
    log: Log;
    /** Where there is a console: whether this request comes from whoever is signed in to it. */
    isSignedIn?: ((request: IncomingMessage) => Promise<boolean>) | undefined;
  },
): AnswerProblem {
  const { renderProblemPage, isRefusing, log, isSignedIn } = parts;
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    if (url.includes('*')) return;
    for (const path of concretePaths(url)) {
      const known = methods.get(path) ?? new Set();
      for (const each of [method].flat()) known.add(each);
      methods.set(path, known);
    }
  });

  /** A path that is registered as it is comes before one whose last part may be anything. */
  const urlAt = (path: string) => {
    if (methods.has(path)) return path;
    const end = path.lastIndexOf('/') + 1;
    if (end === path.length) return undefined;
    return [...methods.keys()].find(
      (url) => OPEN_END.test(url) && url.startsWith(path.slice(0, end)) && url.indexOf(':') === end,
    );
  };

  const answer: AnswerProblem = (request, reply, kind) => {
    const { status, headers, body } = renderProblem({ kind }, 'json');
    reply.code(status).headers({ 'cache-control': 'no-store', ...headers });
    if (!wantsPage(request)) return reply.send(body);
    const typed = isForm(request) && request.method === 'POST';
    const page = renderProblemPage({ status, sentence: body.error, typed });
    return reply.type('text/html; charset=utf-8').send(page);
  };

  const answerNotFound = (request: FastifyRequest, reply: FastifyReply) => {
    const url = urlAt(pathOf(request.url));
    const known = url !== undefined && methods.get(url);
    if (!known) return answer(request, reply, 'notFound');
    const refuseMethod = () => {
      reply.header('allow', [...known].sort().join(', '));
      return answer(request, reply, 'methodNotAllowed');
    };
    if (!CONSOLE.has(url) || isSignedIn === undefined) return refuseMethod();
    return isSignedIn(request.raw).then((signedIn) =>
      signedIn ? refuseMethod() : answer(request, reply, 'notFound'),
    );
  };

  app.setNotFoundHandler(answerNotFound);
  app.addHook('onRequest', (request, reply, done) => {
    if (isAmbiguous(request.raw)) {
      return answer(request, reply.header('connection', 'close'), 'badRequest');
    }
    if (isRefusing() && !HEALTH.has(request.routeOptions.url ?? '')) {
      return answer(request, reply, 'shuttingDown');
    }
    if (request.is404) return answerNotFound(request, reply);
    done();
  });

  // Anything can be thrown, nothing too.
  app.setErrorHandler((error: FastifyError | undefined, request, reply) => {
    if (error instanceof StorageUnavailable) {
      log.error({ err: error, requestId: request.id }, 'the store is unavailable');
      return answer(request, reply, 'storeUnavailable');
    }
    // Fastify's own refusals of a request that can't be read; everything else is our fault.
    if (error?.code?.startsWith('FST_ERR_') && (error.statusCode ?? 500) < 500) {
      return answer(request, reply, 'badRequest');
    }
    log.error({ err: error, requestId: request.id }, 'unexpected error');
    return answer(request, reply, 'internal');
  });
  return answer;
}

/** One `Host` (RFC 9112 §3.2), and of the transfer codings `chunked` alone. */
function isAmbiguous(request: IncomingMessage): boolean {
  const coding = request.headers['transfer-encoding'] ?? 'chunked';
  const hosts = headerLines(request, 'host').length;
  return coding.toLowerCase() !== 'chunked' || (hosts !== 1 && request.httpVersion !== '1.0');
}

/** The whole parameter: `:action_id` is another. */
const ACTION = /:action(?!\w)/;

/** An action is part of a path only where it is known: `{action}` stands for each of the forms. */
function concretePaths(url: string): string[] {
  return ACTION.test(url) ? Object.keys(forms).map((action) => url.replace(ACTION, action)) : [url];
}
