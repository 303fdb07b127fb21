/**
 * The operator console over HTTP (reference §12.4). A start registers only the paths, and the first request that needs
 * the console loads it. Without a session, a path redirects to the sign-in page, whether it exists or not.
 */
import { readFile } from 'node:fs/promises';
import type { IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { sentForm } from '../http/same-origin.ts';
import type { InFlight } from '../platform/in-flight.ts';
import { once } from '../platform/lazy.ts';
import { projectFile } from '../project.ts';
import type { Route } from '../route-groups.ts';
import { at, type ConsoleRoute, routes } from '../routes.ts';
import { redirectToSignIn } from '../server/fallbacks.ts';
import type { TakeBody, TakeFromLimit } from '../server/rate-limits.ts';
import { atSecret } from '../server/secret-paths.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { ConsoleAnswer, ConsoleRequest } from './answers.ts';
import type { Console } from './console.ts';
import type { GivenParts } from './page.ts';

/** Maximum size of a body: a button with up to 100 ids, or a note (reference §12.14). */
const FORM_BODY_BYTES = 8_000;
const NOTE_BODY_BYTES = 65_536;

export type OpenConsole = () => Promise<Console>;

/** Returns a function that loads the console once. */
export function consoleOpener(parts: GivenParts): OpenConsole {
  return once(async () => (await import('./console.ts')).openConsole(parts));
}

/** Returns a function that is true if a request has a session. A request without a cookie loads nothing. */
export function signedInCheck(openConsole: OpenConsole) {
  return async (raw: IncomingMessage): Promise<boolean> =>
    raw.headers.cookie !== undefined && (await openConsole()).isSignedIn(raw);
}

type RouteParts = {
  openConsole: OpenConsole;
  takeFromLimit: TakeFromLimit;
  takeBody: TakeBody;
  log: GivenParts['log'];
  /** Work that continues after its response. */
  background: InFlight<Promise<void>>;
};

type Values = { Params: Record<string, string | undefined> };

/** Registers every path of the console. */
export function registerConsole(app: FastifyInstance, parts: RouteParts): void {
  const add = (
    where: ReturnType<typeof at>,
    run: (open: Console, request: ConsoleRequest) => ConsoleAnswer | Promise<ConsoleAnswer>,
    { needsSession = false, bodyBytes = FORM_BODY_BYTES } = {},
  ) => {
    app.route<Values>({
      ...where,
      handler: async (request, reply) => {
        // A request without a cookie has no session, so it need not load the console.
        if (needsSession && request.headers.cookie === undefined) return redirectToSignIn(request, reply);
        const opened = await parts.openConsole();
        try {
          const answer = await run(opened, {
            raw: request.raw,
            values: request.params,
            query: new URLSearchParams(request.url.split(/\?(.*)/s, 2)[1]),
            takeFromLimit: (name) => parts.takeFromLimit(name, request, reply),
            readForm: async () => {
              const body = await parts.takeBody(request, reply, bodyBytes);
              return body.kind === 'read' ? sentForm(request.headers, body.bytes) : undefined;
            },
          });
          if (answer.kind === 'noSession') return redirectToSignIn(request, reply);
          if ('afterwards' in answer) runAfterResponse(reply, answer.afterwards, parts.background);
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
    const bodyBytes = route === routes.changeNote ? NOTE_BODY_BYTES : FORM_BODY_BYTES;
    add(at(route), (open, request) => open.answer(name as ConsoleRoute, request), { needsSession: true, bodyBytes });
  }
  add(at(routes.signInForm), (open, request) => open.signInForm(request));
  add(at(routes.requestSignIn), (open, request) => open.requestSignIn(request));
  add(at(routes.signInSent), (open) => open.signInSent());
  add(atSecret(routes.signInPage), (open, request) => open.signInPage(request));
  add(atSecret(routes.signIn), (open, request) => open.signIn(request));

  const addFile = (route: Route, file: string, type: string) => {
    const text = once(() => readFile(projectFile(`src/console/${file}`), 'utf8'));
    app.route({
      ...at(route),
      handler: async (_request, reply) =>
        reply
          .header('cache-control', 'public, max-age=300')
          .type(`${type}; charset=utf-8`)
          .send(await text()),
    });
  };
  addFile(routes.operatorStylesheet, 'operator.css', 'text/css');
  addFile(routes.operatorScript, 'operator.js', 'text/javascript');
}

/** Calls `run` when the response has been sent or its connection has ended. A shutdown waits for `run`. */
function runAfterResponse(reply: FastifyReply, run: () => Promise<void>, background: InFlight<Promise<void>>): void {
  const ended = new Promise<void>((resolve) => void reply.raw.once('close', resolve)).then(run);
  void ended.finally(background.add(ended));
}

function sendAnswer(reply: FastifyReply, answer: Exclude<ConsoleAnswer, { kind: 'noSession' }>): FastifyReply {
  reply.headers({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' });
  switch (answer.kind) {
    case 'html':
      if (answer.retryAfterSeconds !== undefined) reply.header('retry-after', answer.retryAfterSeconds);
      return reply.code(answer.status).type('text/html; charset=utf-8').send(answer.html);
    case 'redirect':
      if (answer.cookie !== undefined) reply.header('set-cookie', answer.cookie);
      return reply.code(303).header('location', answer.to).send();
    case 'json':
      return reply.send(answer.value);
    case 'file':
      return reply
        .type(answer.type)
        .header('content-disposition', `attachment; filename="${answer.name}"`)
        .send(Readable.from(answer.text));
  }
}
