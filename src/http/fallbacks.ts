/** What answers when no route does: 404, 405, broken requests, and errors nobody expected. */

import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyError, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { newId } from '../chance.ts';
import { forms } from '../forms/catalog.ts';
import type { Log } from '../operations/log.ts';
import type { Settings } from '../settings.ts';
import { renderErrorPage } from '../site/error-page.ts';
import type { Frame } from '../site/layout.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { mediaType } from './body.ts';
import { headerLines } from './headers.ts';
import type { ProblemKind } from './problems.ts';
import { renderProblem } from './render-problem.ts';

type Operator = Settings['operator'];

/** How a problem of no route's own is answered. */
export type AnswerProblem = (
  request: FastifyRequest,
  reply: FastifyReply,
  kind: ProblemKind,
) => FastifyReply;

// An import from `node:http` would load all of Node's `fetch` with it: a tenth of a cold start.
const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** They say what a drain is, and are asked during one. */
const HEALTH: ReadonlySet<string> = new Set(['/healthz', '/readyz']);

/** Where browsers send forms, and how. */
const FORMS: ReadonlySet<string> = new Set(['/api/leads', '/api/subscribe']);
const NATIVE: ReadonlySet<string> = new Set([
  'application/x-www-form-urlencoded',
  'multipart/form-data',
]);

/** The answer that each connection got last: one to a broken request must not overtake it. */
const lastAnswers = new WeakMap<Socket, ServerResponse>();

/**
 * Registers the handlers; call it before any route, for it writes down which methods each path has.
 */
export function registerFallbacks(
  app: FastifyInstance,
  operator: Operator,
  parts: { isDraining: () => boolean; isRefusing: () => boolean; frame: Frame; log: Log },
): AnswerProblem {
  const { isDraining, isRefusing, frame, log } = parts;
  const methods = new Map<string, Set<string>>();
  app.addHook('onRoute', ({ url, method }) => {
    if (url.includes('*')) return;
    for (const path of concretePaths(url)) {
      const known = methods.get(path) ?? new Set();
      for (const each of [method].flat()) known.add(each);
      methods.set(path, known);
    }
  });

  const answer: AnswerProblem = (request, reply, kind) => {
    const { status, headers, body } = renderProblem({ kind }, 'json');
    reply.code(status).headers({ 'cache-control': 'no-store', ...headers });
    if (!wantsPage(request)) return reply.send(body);
    return reply.type('text/html; charset=utf-8').send(
      renderErrorPage(
        {
          status,
          sentence: body.error,
          typed: isForm(request) && request.method === 'POST',
          ...pageOf(operator),
        },
        frame,
      ),
    );
  };

  const answerNotFound = (request: FastifyRequest, reply: FastifyReply) => {
    const known = methods.get(pathOf(request));
    if (known === undefined) return answer(request, reply, 'notFound');
    reply.header('allow', [...known].sort().join(', '));
    return answer(request, reply, 'methodNotAllowed');
  };

  app.setNotFoundHandler(answerNotFound);
  app.server.on('request', (request, response) => lastAnswers.set(request.socket, response));
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

  // A proxy takes the next connection elsewhere, and a busy one does not hold the drain up.
  app.addHook('onSend', (_request, reply, payload, done) => {
    if (isDraining()) reply.header('connection', 'close');
    done(null, payload);
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

/** What an error page says of the operator. */
export function pageOf({ name, contact }: Operator) {
  return { operatorName: name, ...(contact === undefined ? {} : { operatorContact: contact }) };
}

/** An action is part of a path only where it is known: `{action}` stands for each of the forms. */
function concretePaths(url: string): string[] {
  return url.includes(':action')
    ? Object.keys(forms).map((action) => url.replace(':action', action))
    : [url];
}

function pathOf(request: FastifyRequest): string {
  return request.url.split('?', 1)[0] ?? '/';
}

function isForm(request: FastifyRequest): boolean {
  return FORMS.has(pathOf(request));
}

/** A person in a browser gets a page, everybody else JSON; a form that was sent, by how it was sent. */
function wantsPage(request: FastifyRequest): boolean {
  const path = pathOf(request);
  if (isForm(request)) {
    const sent = mediaType(request.headers['content-type'])?.essence;
    return sent === undefined ? acceptsPage(request) : NATIVE.has(sent);
  }
  if (path.startsWith('/api/') || path.startsWith('/.well-known/')) return false;
  return acceptsPage(request);
}

function acceptsPage(request: FastifyRequest): boolean {
  return request.headers.accept?.includes('text/html') ?? false;
}

/** Answers what Node could not parse as a request (headers too large or too slow, broken lines). */
export function answerBrokenRequest(error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const last = lastAnswers.get(socket);
  if (last !== undefined && !last.writableFinished && last.req.complete) {
    last.once('close', () => answerBrokenRequest(error, socket));
    return;
  }
  if (last?.headersSent && !last.req.complete) {
    // Its head was answered already: a second answer would be taken for another request's.
    socket.destroy();
    return;
  }
  const kind =
    error.code === 'ERR_HTTP_REQUEST_TIMEOUT'
      ? 'requestTimeout'
      : error.code === 'HPE_HEADER_OVERFLOW'
        ? 'headersTooLarge'
        : 'badRequest';
  const { status, body } = renderProblem({ kind }, 'json');
  const json = JSON.stringify(body);
  socket.end(
    `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\ncontent-type: application/json; charset=utf-8\r\n` +
      `content-length: ${Buffer.byteLength(json)}\r\ncache-control: no-store\r\n` +
      `x-request-id: ${newId()}\r\nconnection: close\r\n\r\n${json}`,
  );
}
