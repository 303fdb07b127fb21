/** Routes of confirmations (reference §6): agents request, read and cancel them, a person answers on their page. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PressRefusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { childTraceparent, headerLines, parseTraceparent } from '../http/request.ts';
import { checkSameOrigin, sentForm } from '../http/same-origin.ts';
import { at, pathTo, routes } from '../routes.ts';
import { sendProblem } from '../server/page-or-json.ts';
import type { TakeBody, TakeFromLimit } from '../server/rate-limits.ts';
import { atSecret } from '../server/secret-paths.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { type Answered, type AnswerParts, answerConfirmation, type Button } from './answer.ts';
import { changedPage, confirmationPage, type PageParts, refusedPage, type Shown } from './page.ts';
import { cancelConfirmation, type ReadParts, readConfirmation } from './read-and-cancel.ts';
import { type RequestParts, requestConfirmation } from './request-confirmation.ts';
import { digestOfSecret } from './tokens.ts';

type LimitParts = { takeFromLimit: TakeFromLimit; takeBody: TakeBody };

/** Limit for the body that a button sends, in bytes. The body has a token and a few letters. */
const BUTTON_BODY_BYTES = 8_000;

/** Registers the routes for agents. */
export function registerConfirmations(app: FastifyInstance, parts: RequestParts & ReadParts & LimitParts): void {
  const agentRequest = (request: FastifyRequest, reply: FastifyReply, rate: 'confirmations' | 'reads') => ({
    authorization: headerLines(request.raw, 'authorization'),
    takeFromLimit: () => parts.takeFromLimit(rate, request, reply),
    onSandbox: () => reply.header('sandbox', 'true'),
  });

  app.route({
    ...at(routes.createConfirmation),
    handler: async (request, reply) => {
      const result = await requestConfirmation(parts, {
        ...agentRequest(request, reply, 'confirmations'),
        idempotencyKeys: headerLines(request.raw, 'idempotency-key'),
        readBody: () => parts.takeBody(request, reply, bounds.jsonBodyBytes),
      });
      if (result.kind !== 'confirmation') return sendProblem(reply, renderProblem(result, 'agent'));
      reply.header('cache-control', 'no-store').code(result.isNew ? 201 : 200);
      return reply.send({ ok: true, confirmation: result.record });
    },
  });

  for (const [route, handle] of [
    [routes.getConfirmation, readConfirmation],
    [routes.cancelConfirmation, cancelConfirmation],
  ] as const) {
    app.route<{ Params: { id: string } }>({
      ...at(route),
      handler: async (request, reply) => {
        const { id } = request.params;
        const result = await handle(parts, { id, ...agentRequest(request, reply, 'reads') });
        if (result.kind !== 'found') return sendProblem(reply, renderProblem(result, 'agent'));
        const { retryAfterSeconds, body } = result;
        if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
        return reply.header('cache-control', 'no-store').send(body);
      },
    });
  }
}

/** Registers the confirmation page and its buttons. */
export function registerConfirmationPage(
  app: FastifyInstance,
  parts: AnswerParts & PageParts & LimitParts & { baseUrl: string },
): void {
  const { origin } = new URL(parts.baseUrl);
  type PageRoute = { Params: { secret: string } };

  const sendPage = (reply: FastifyReply, status: number, html: string) =>
    reply
      .code(status)
      .headers({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' })
      .type('text/html; charset=utf-8')
      .send(html);

  const show = (reply: FastifyReply, shown: Omit<Shown, 'now'>) =>
    sendPage(reply, 200, confirmationPage(parts, { ...shown, now: parts.clock.now() }));

  const refusePage = (reply: FastifyReply, refusal: PressRefusal, secret: string) => {
    // An unknown secret is not repeated on the page.
    const back = refusal.kind === 'unknownLink' ? undefined : secret;
    const { status, html } = refusedPage(parts, refusal, back);
    if ('retryAfterSeconds' in refusal) reply.header('retry-after', refusal.retryAfterSeconds);
    return sendPage(reply, status, html);
  };

  /** Answers with a page if the store is unavailable, so that the person can open the link again. */
  const orUnavailable = async (
    reply: FastifyReply,
    secret: string,
    run: () => Promise<FastifyReply>,
  ): Promise<FastifyReply> => {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      parts.log.error({ err: error }, 'the store is unavailable');
      return refusePage(reply, { kind: 'pressUnknown' }, secret);
    }
  };

  app.route<PageRoute>({
    ...atSecret(routes.confirmationPage),
    handler: (request, reply) => {
      const { secret } = request.params;
      return orUnavailable(reply, secret, async () => {
        const digest = digestOfSecret(secret);
        const confirmation = digest && (await parts.confirmations.findBySecret(digest));
        if (!confirmation) return refusePage(reply, { kind: 'unknownLink' }, secret);
        return show(reply, { confirmation, secret });
      });
    },
  });

  const answer = (reply: FastifyReply, secret: string, pressed: Answered): FastifyReply => {
    if (pressed.kind === 'done') {
      const location = pathTo(routes.confirmationPage, { secret });
      return reply.code(303).headers({ 'cache-control': 'no-store', location }).send();
    }
    if (pressed.kind === 'changed') return sendPage(reply, 200, changedPage(parts, pressed.confirmation));
    if (pressed.kind !== 'checked') return refusePage(reply, pressed, secret);
    return show(reply, { ...pressed.shown, secret });
  };

  app.route<PageRoute>({
    ...atSecret(routes.pressConfirmation),
    handler: (request, reply) => {
      const { secret } = request.params;
      return orUnavailable(reply, secret, async () => {
        const answered = await answerConfirmation(parts, {
          secret,
          takeFromLimit: () => parts.takeFromLimit('presses', request, reply),
          ...checkSameOrigin(request.raw, origin),
          readButton: async () => {
            const body = await parts.takeBody(request, reply, BUTTON_BODY_BYTES);
            return body.kind === 'read' ? buttonIn(request, body.bytes) : undefined;
          },
          traceparent: childTraceparent(parseTraceparent(request.headers.traceparent)),
        });
        return answer(reply, secret, answered);
      });
    },
  });
}

/** Returns the button that a form of our page sent, or undefined for any other body. */
function buttonIn({ headers }: FastifyRequest, bytes: Buffer): Button | undefined {
  const only = sentForm(headers, bytes);
  if (only === undefined) return undefined;
  const pressed = only('do');
  const code = only('code');
  if (pressed === 'send' || pressed === 'change') return { do: pressed, token: only('token') ?? '' };
  if (pressed === 'check' && code !== null) return { do: pressed, code };
  const isOther = pressed === 'decline' || pressed === 'report' || pressed === 'code';
  return isOther ? { do: pressed } : undefined;
}
