/** Confirmations by HTTP (beyond §4): an agent asks, reads and cancels; a person opens their page and presses. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { PressRefusal, Refusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { childTraceparent, headerLines, parseTraceparent } from '../http/headers.ts';
import { judgePress, sentForm } from '../http/press.ts';
import { at, pathTo, routes } from '../routes.ts';
import type { TakeFromLimit } from '../server/limiting.ts';
import type { TakeBody } from '../server/refused-bodies.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { type AskParts, ask } from './ask.ts';
import { cancel, type LookParts, look } from './look.ts';
import { confirmationPage, type PageParts, refusedPage } from './page.ts';
import { type Button, type Pressed, type PressParts, press } from './press.ts';
import { digestOfSecret } from './secrets.ts';

type Taking = { takeFromLimit: TakeFromLimit; takeBody: TakeBody };

/** The body of a button: a token and a few letters. */
const BUTTON_BODY_BYTES = 8_000;

/** Registers what an agent calls. */
export function registerConfirmations(
  app: FastifyInstance,
  parts: AskParts & LookParts & Taking,
): void {
  const asked = (
    request: FastifyRequest,
    reply: FastifyReply,
    rate: 'confirmations' | 'reads',
  ) => ({
    authorization: headerLines(request.raw, 'authorization'),
    takeFromLimit: () => parts.takeFromLimit(rate, request, reply),
  });

  app.route({
    ...at(routes.createConfirmation),
    handler: async (request, reply) => {
      const result = await ask(parts, {
        ...asked(request, reply, 'confirmations'),
        idempotencyKeys: headerLines(request.raw, 'idempotency-key'),
        readBody: () => parts.takeBody(request, reply, bounds.jsonBodyBytes),
      });
      if (result.kind !== 'confirmation') return refuse(reply, result);
      reply.header('cache-control', 'no-store').code(result.isNew ? 201 : 200);
      return reply.send({ ok: true, confirmation: result.record });
    },
  });

  for (const [route, chain] of [
    [routes.getConfirmation, look],
    [routes.cancelConfirmation, cancel],
  ] as const) {
    app.route<{ Params: { id: string } }>({
      ...at(route),
      handler: async (request, reply) => {
        const { id } = request.params;
        const result = await chain(parts, { id, ...asked(request, reply, 'reads') });
        if (result.kind !== 'seen') return refuse(reply, result);
        const { retryAfterSeconds, body } = result;
        if (retryAfterSeconds !== undefined) reply.header('retry-after', retryAfterSeconds);
        return reply.header('cache-control', 'no-store').send(body);
      },
    });
  }
}

/** Registers a person's page and its buttons. */
export function registerPress(
  app: FastifyInstance,
  parts: PressParts & PageParts & Taking & { baseUrl: string },
): void {
  const { origin } = new URL(parts.baseUrl);
  type PageRoute = { Params: { secret: string } };

  const sendPage = (reply: FastifyReply, status: number, html: string) =>
    reply
      .code(status)
      .headers({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' })
      .type('text/html; charset=utf-8')
      .send(html);

  const refusePage = (reply: FastifyReply, refusal: PressRefusal, secret: string) => {
    // What no link of ours ends with is not shown again.
    const back = refusal.kind === 'unknownLink' ? undefined : secret;
    const { status, html } = refusedPage(parts, refusal, back);
    if ('retryAfterSeconds' in refusal) reply.header('retry-after', refusal.retryAfterSeconds);
    return sendPage(reply, status, html);
  };

  /** A person can't repeat a request; they can open the link again. */
  const orUnknown = async (
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
    ...at(routes.confirmationPage),
    handler: (request, reply) => {
      const { secret } = request.params;
      return orUnknown(reply, secret, async () => {
        const digest = digestOfSecret(secret);
        const confirmation = digest && (await parts.confirmations.findBySecret(digest));
        if (!confirmation) return refusePage(reply, { kind: 'unknownLink' }, secret);
        const shown = { confirmation, secret, now: parts.clock.now() };
        return sendPage(reply, 200, confirmationPage(parts, shown));
      });
    },
  });

  const answer = (reply: FastifyReply, secret: string, pressed: Pressed): FastifyReply => {
    const now = parts.clock.now();
    switch (pressed.kind) {
      case 'done':
        return reply
          .code(303)
          .headers({
            'cache-control': 'no-store',
            location: pathTo(routes.confirmationPage, { secret }),
          })
          .send();
      case 'unmasked': {
        const shown = { ...pressed, secret, now, unmasked: true };
        return sendPage(reply, 200, confirmationPage(parts, shown));
      }
      case 'wrongCode': {
        const { confirmation, left } = pressed;
        const shown = { confirmation, secret, now, left };
        return sendPage(reply, 200, confirmationPage(parts, shown));
      }
      default:
        return refusePage(reply, pressed, secret);
    }
  };

  app.route<PageRoute>({
    ...at(routes.pressConfirmation),
    handler: (request, reply) => {
      const { secret } = request.params;
      return orUnknown(reply, secret, async () => {
        const pressed = await press(parts, {
          secret,
          takeFromLimit: () => parts.takeFromLimit('presses', request, reply),
          ...judgePress(request.raw, origin),
          readButton: async () => {
            const body = await parts.takeBody(request, reply, BUTTON_BODY_BYTES);
            return body.kind === 'read' ? buttonIn(request, body.bytes) : undefined;
          },
          traceparent: childTraceparent(parseTraceparent(request.headers.traceparent)),
        });
        return answer(reply, secret, pressed);
      });
    },
  });
}

/** A form of our page, as browsers send it; undefined where it is anything else. */
function buttonIn({ headers }: FastifyRequest, bytes: Buffer): Button | undefined {
  const only = sentForm(headers, bytes);
  if (only === undefined) return undefined;
  const [pressed, token, code] = [only('do'), only('token'), only('code')];
  switch (pressed) {
    case 'send':
      return { do: pressed, token: token ?? '' };
    case 'check':
      return code === null ? undefined : { do: pressed, code };
    case 'decline':
    case 'report':
    case 'code':
      return { do: pressed };
    default:
      return undefined;
  }
}

function refuse(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { status, headers, body } = renderProblem(refusal, 'agent');
  return reply.header('cache-control', 'no-store').code(status).headers(headers).send(body);
}
