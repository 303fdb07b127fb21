/**
 * The operator's console by HTTP (beyond §7). Only the paths are known at a start: the room itself is loaded by the
 * first request that needs it. Whoever is not signed in is told what anybody is told of a path that is not there.
 */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { sentForm } from '../http/press.ts';
import { once } from '../once.ts';
import type { Route } from '../route-groups.ts';
import { at, type ConsoleRoute, routes } from '../routes.ts';
import type { TakeFromLimit } from '../server/limiting.ts';
import type { TakeBody } from '../server/refused-bodies.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { Console, ConsoleAnswer, ConsoleRequest } from './console.ts';
import type { GivenParts } from './visit.ts';

/** A button, and a reason or an id beside it. */
const FORM_BODY_BYTES = 8_000;

const paths = new Set<string>(
  Object.values<Route>(routes).flatMap(({ group, path }) => (group === 'console' ? [path] : [])),
);

/** Takes the path of a route; whether only who is signed in to the console asks for it. */
export function isOfConsole(path: string): boolean {
  return paths.has(path);
}

export type OpenConsole = () => Promise<Console>;

/** Takes the parts; returns what loads the room, once. */
export function consoleOpener(parts: GivenParts): OpenConsole {
  return once(async () => (await import('./console.ts')).openConsole(parts));
}

/** Whether somebody is signed in by a request. Whoever sends no cookie is not, and loads nothing. */
export function signedInCheck(openConsole: OpenConsole) {
  return async (raw: IncomingMessage): Promise<boolean> =>
    raw.headers.cookie !== undefined && (await openConsole()).isSignedIn(raw);
}

type RouteParts = {
  openConsole: OpenConsole;
  takeFromLimit: TakeFromLimit;
  takeBody: TakeBody;
  log: GivenParts['log'];
  answerNotFound(request: FastifyRequest, reply: FastifyReply): FastifyReply;
};

type Values = { Params: Record<string, string | undefined> };

/** Registers every path of the console. */
export function registerConsole(app: FastifyInstance, parts: RouteParts): void {
  const asked = (request: FastifyRequest<Values>, reply: FastifyReply): ConsoleRequest => ({
    raw: request.raw,
    values: request.params,
    url: request.url,
    takeFromLimit: () => parts.takeFromLimit('signIns', request, reply),
    readForm: async () => {
      const body = await parts.takeBody(request, reply, FORM_BODY_BYTES);
      return body.kind === 'read' ? sentForm(request.headers, body.bytes) : undefined;
    },
  });

  const add = (
    route: Route,
    run: (open: Console, request: ConsoleRequest) => ConsoleAnswer | Promise<ConsoleAnswer>,
    { isHidden = false } = {},
  ) => {
    app.route<Values>({
      ...at(route),
      handler: async (request, reply) => {
        // Whoever sends no cookie is signed in nowhere: for them nothing need be loaded.
        if (isHidden && request.headers.cookie === undefined) {
          return parts.answerNotFound(request, reply);
        }
        const opened = await parts.openConsole();
        try {
          const answer = await run(opened, asked(request, reply));
          if (answer.kind === 'notFound') return parts.answerNotFound(request, reply);
          return sendAnswer(reply, answer);
        } catch (error) {
          if (!(error instanceof StorageUnavailable)) throw error;
          parts.log.error({ err: error, requestId: request.id }, 'the store is unavailable');
          return sendAnswer(reply, opened.unavailable());
        }
      },
    });
  };

  for (const [name, route] of Object.entries<Route>(routes)) {
    if (route.group !== 'console') continue;
    add(route, (open, request) => open.answer(name as ConsoleRoute, request), {
      isHidden: route !== routes.operatorPage,
    });
  }
  add(routes.signInPage, (open, request) => open.signInPage(request));
  add(routes.signIn, (open, request) => open.signIn(request));

  const stylesheet = once(() => readFile(new URL('operator.css', import.meta.url), 'utf8'));
  app.route({
    ...at(routes.operatorStylesheet),
    handler: async (_request, reply) =>
      reply
        .header('cache-control', 'public, max-age=300')
        .type('text/css; charset=utf-8')
        .send(await stylesheet()),
  });
}

type Sent = Exclude<ConsoleAnswer, { kind: 'notFound' }>;

function sendAnswer(reply: FastifyReply, answer: Sent): FastifyReply {
  reply.headers({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' });
  switch (answer.kind) {
    case 'html':
      if (answer.retryAfterSeconds !== undefined) {
        reply.header('retry-after', answer.retryAfterSeconds);
      }
      return reply.code(answer.status).type('text/html; charset=utf-8').send(answer.html);
    case 'redirect':
      if (answer.cookie !== undefined) reply.header('set-cookie', answer.cookie);
      return reply.code(303).header('location', answer.to).send();
    case 'file':
      return reply
        .type(answer.type)
        .header('content-disposition', `attachment; filename="${answer.name}"`)
        .send(Readable.from(answer.text));
  }
}
