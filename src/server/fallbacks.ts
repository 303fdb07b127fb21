/**
 * Answers requests that no route answers: unknown paths (404) and methods (405), paths with a final slash (reference
 * §3.1), ambiguous requests and unexpected errors.
 */
import type { IncomingMessage } from 'node:http';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { ServerRefusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { forms } from '../forms/catalog.ts';
import { headerLines } from '../http/request.ts';
import type { Log } from '../platform/log.ts';
import { pathsOf, pathTo, routes } from '../routes.ts';
import { StorageUnavailable } from '../storage/database.ts';
import {
  isFormPath,
  isRead,
  pathOf,
  type RenderProblemPage,
  sendProblem,
  wantsPage,
  writtenPath,
} from './page-or-json.ts';

/** Answers with a problem that belongs to no route. */
export type AnswerProblem = (request: FastifyRequest, reply: FastifyReply, kind: ServerRefusal['kind']) => FastifyReply;

/** These routes are answered during a drain as well, because readiness reports the drain to a proxy. */
const HEALTH = pathsOf('health');

/** Every path below this folder needs a session, except the sign-in pages (reference §12.16). */
const CONSOLE = `${routes.operatorPage.path}/`;
const SIGN_IN = pathsOf('signIn');

/** Registers the handlers. Call it before any route. */
export function registerFallbacks(
  app: FastifyInstance,
  parts: {
    renderProblemPage: RenderProblemPage;
    isRefusing: () => boolean;
    log: Log;
    knownPaths: KnownPaths;
    /** Returns true if the request has a session of the console. Undefined if there is no console. */
    isSignedIn?: ((request: IncomingMessage) => Promise<boolean>) | undefined;
  },
): AnswerProblem {
  const { renderProblemPage, isRefusing, log, knownPaths, isSignedIn } = parts;
  const answer: AnswerProblem = (request, reply, kind) => {
    const problem = renderProblem({ kind }, 'json');
    if (!wantsPage(request)) return sendProblem(reply, problem);
    const { status, body } = problem;
    const typed = isFormPath(pathOf(request.url)) && request.method === 'POST';
    return sendProblem(reply, problem, renderProblemPage({ status, sentence: body.error, typed }));
  };

  /** Calls `run`. Redirects to the sign-in page instead if the path needs a session and the request has none. */
  const ifSignedIn = (route: string | undefined, request: FastifyRequest, reply: FastifyReply, run: Answer) => {
    const needsSession = `${pathOf(request.url)}/`.startsWith(CONSOLE) && !SIGN_IN.has(route ?? '');
    if (!needsSession || isSignedIn === undefined) return run();
    return isSignedIn(request.raw).then((signedIn) => (signedIn ? run() : redirectToSignIn(request, reply)));
  };

  const answerNotFound = (request: FastifyRequest, reply: FastifyReply) => {
    const known = knownPaths.find(pathOf(request.url));
    return ifSignedIn(known?.route, request, reply, () => {
      if (known === undefined) return answer(request, reply, 'notFound');
      reply.header('allow', [...known.methods].sort().join(', '));
      return answer(request, reply, 'methodNotAllowed');
    });
  };

  const redirectTo = (clean: CleanAddress, request: FastifyRequest, reply: FastifyReply) => {
    return ifSignedIn(clean.route, request, reply, () =>
      reply.code(308).headers({ 'cache-control': 'no-store', location: clean.url }).send(),
    );
  };

  app.setNotFoundHandler(answerNotFound);
  app.addHook('onRequest', (request, reply, done) => {
    if (isAmbiguous(request.raw)) return answer(request, reply.header('connection', 'close'), 'badRequest');
    if (isRefusing() && !HEALTH.has(request.routeOptions.url ?? '')) return answer(request, reply, 'shuttingDown');
    const clean = isRead(request.method) && knownPaths.withoutSlash(request.url);
    if (clean) return redirectTo(clean, request, reply);
    done();
  });

  // Code can throw anything, undefined included.
  app.setErrorHandler((error: FastifyError | undefined, request, reply) => {
    if (error instanceof StorageUnavailable) {
      log.error({ err: error, requestId: request.id }, 'the store is unavailable');
      return answer(request, reply, 'storeUnavailable');
    }
    // Fastify refuses a request that it can't read. Every other error is a defect of the service.
    if (error?.code?.startsWith('FST_ERR_') && (error.statusCode ?? 500) < 500) {
      return answer(request, reply, 'badRequest');
    }
    log.error({ err: error, requestId: request.id }, 'unexpected error');
    return answer(request, reply, 'internal');
  });
  return answer;
}

type Answer = () => FastifyReply;

/** Redirects a request without a session to the sign-in page. The address contains the path and query of a GET. */
export function redirectToSignIn({ method, url }: FastifyRequest, reply: FastifyReply): FastifyReply {
  const page = writtenPath(url) + (/\?[^#]*/.exec(url)?.[0] ?? '');
  const query = isRead(method) ? `?page=${encodeURIComponent(page)}` : '';
  const location = routes.signInForm.path + query;
  return reply.code(303).headers({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex', location }).send();
}

/** Returns true unless the request has one `Host` (RFC 9112 §3.2), and no transfer coding but `chunked`. */
function isAmbiguous(request: IncomingMessage): boolean {
  const coding = request.headers['transfer-encoding'] ?? 'chunked';
  const hosts = headerLines(request, 'host').length;
  return coding.toLowerCase() !== 'chunked' || (hosts !== 1 && request.httpVersion !== '1.0');
}

/** A path whose last part is a parameter. */
const OPEN_END = /:(\w+)$/;

/** Matches an address whose path may end with a slash. A query can also match. */
const SLASH_AT_END = /\/(?:[?#]|$)/;

/** Matches the parameter `:action`, but not `:action_id`. */
const ACTION = /:action(?!\w)/;

/** An address, and the path of its route. */
type CleanAddress = { route: string; url: string };

export type KnownPaths = ReturnType<typeof openKnownPaths>;

/** Records the paths and methods of all routes. The path of an action contains its name. */
export function openKnownPaths() {
  const known = new Map<string, Set<string>>();

  /** Finds the route of a decoded path. An exact path comes before a path that ends with a parameter. */
  function find(path: string): { route: string; methods: ReadonlySet<string> } | undefined {
    const exact = known.get(path);
    if (exact !== undefined) return { route: path, methods: exact };
    const end = path.lastIndexOf('/') + 1;
    if (end === path.length) return undefined;
    for (const [route, methods] of known) {
      const isOpen = OPEN_END.test(route) && route.indexOf(':') === end;
      if (isOpen && route.startsWith(path.slice(0, end))) return { route, methods };
    }
    return undefined;
  }

  /**
   * Returns an address without the slash at the end of its path. Returns undefined if the path has no such slash, or if
   * no route has the remaining path. The address is made from the route and the value of its parameter, so that it
   * leads to no other host.
   */
  function withoutSlash(url: string): CleanAddress | undefined {
    if (!SLASH_AT_END.test(url)) return undefined;
    const written = writtenPath(url);
    if (written.length < 3 || !written.endsWith('/')) return undefined;
    const clean = written.slice(0, -1);
    const route = find(pathOf(clean))?.route;
    if (route === undefined) return undefined;
    const [, name = ''] = OPEN_END.exec(route) ?? [];
    const value = decoded(clean.slice(clean.lastIndexOf('/') + 1));
    if (value === undefined) return undefined;
    const [, query = ''] = /^[^?#]*(\?[^#]*)/.exec(url) ?? [];
    return { route, url: pathTo({ path: route }, { [name]: value }) + query };
  }

  return {
    find,
    withoutSlash,
    /** Records each route that is registered from now on. */
    watch(app: FastifyInstance): void {
      app.addHook('onRoute', ({ url, method }) => {
        if (url.includes('*')) return;
        for (const path of concretePaths(url)) {
          const methods = known.get(path) ?? new Set();
          for (const each of [method].flat()) methods.add(each);
          known.set(path, methods);
        }
      });
    },
    /** Returns the address for the router. A request with GET or HEAD keeps the slash, because it is redirected. */
    rewriteUrl: ({ method, url = '' }: { method?: string | undefined; url?: string | undefined }): string =>
      (isRead(method) ? undefined : withoutSlash(url)?.url) ?? url,
  };
}

/** Returns a path for each action if the path has the parameter `:action`. Otherwise returns only the path itself. */
function concretePaths(url: string): string[] {
  return ACTION.test(url) ? Object.keys(forms).map((action) => url.replace(ACTION, action)) : [url];
}

function decoded(part: string): string | undefined {
  try {
    return decodeURIComponent(part);
  } catch {
    return undefined;
  }
}
