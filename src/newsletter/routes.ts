/** A subscriber's two links by HTTP (beyond §6): GET never changes anything; leaving is RFC 8058. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { NewsletterRefusal } from '../failures/refusals.ts';
import { readBody } from '../http/read-body.ts';
import type { Log } from '../operations/log.ts';
import { at, pathTo, routes } from '../routes.ts';
import type { TakeFromLimit } from '../server/limiting.ts';
import { StorageUnavailable } from '../storage/database.ts';
import { confirmingPage, leavingPage, leftPage, type PageParts, refusedPage } from './page.ts';
import type { Presses } from './press.ts';
import type { Subscribers } from './subscribers.ts';

/** More of a body is not read, and nothing of it is looked at. */
const BODY_BYTES = 8_000;

/** When whoever finds the store away may try again. */
const AWAY_SECONDS = 30;

export type NewsletterRouteParts = PageParts & {
  log: Log;
  subscribers: Pick<Subscribers, 'findByConfirmToken'>;
  presses: Pick<Presses, 'confirm' | 'leave'>;
  takeFromLimit: TakeFromLimit;
};

type OfToken = { Params: { token: string } };

/** Registers the pages where a subscriber confirms and leaves, and what their buttons do. */
export function registerNewsletter(app: FastifyInstance, parts: NewsletterRouteParts): void {
  const { subscribers, presses, takeFromLimit } = parts;

  const sendPage = (reply: FastifyReply, status: number, html: string) =>
    reply
      .code(status)
      .headers({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' })
      .type('text/html; charset=utf-8')
      .send(html);

  const refuse = (reply: FastifyReply, refusal: NewsletterRefusal) => {
    const { status, html } = refusedPage(parts, refusal);
    if ('retryAfterSeconds' in refusal) reply.header('retry-after', refusal.retryAfterSeconds);
    return sendPage(reply, status, html);
  };

  /** A person can't repeat a request; they can open the link again. */
  const orAway = async (reply: FastifyReply, run: () => Promise<FastifyReply>) => {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      parts.log.error({ err: error }, 'the store is unavailable');
      return refuse(reply, { kind: 'newsletterUnknown', retryAfterSeconds: AWAY_SECONDS });
    }
  };

  for (const route of [routes.newsletterPage, routes.confirmSubscription]) {
    app.route<OfToken>({
      ...at(route),
      handler: (request, reply) =>
        orAway(reply, async () => {
          const rate = await takeFromLimit('newsletter', request, reply);
          if (rate.exceeded) {
            const { resetSeconds: retryAfterSeconds } = rate;
            return refuse(reply, { kind: 'newsletterTooOften', retryAfterSeconds });
          }
          const { token } = request.params;
          if (route.method === 'POST') await presses.confirm(token);
          const row = await subscribers.findByConfirmToken(token);
          if (route.method === 'POST') await readBody(request.raw, BODY_BYTES);
          if (row === undefined) return refuse(reply, { kind: 'unknownSubscription' });
          if (route.method === 'GET') return sendPage(reply, 200, confirmingPage(parts, row));
          const location = pathTo(routes.newsletterPage, { token });
          return reply.code(303).headers({ 'cache-control': 'no-store', location }).send();
        }),
    });
  }

  app.route<OfToken>({
    ...at(routes.leavePage),
    handler: (_request, reply) => sendPage(reply, 200, leavingPage(parts)),
  });
  app.route<OfToken>({
    ...at(routes.leaveNewsletter),
    handler: (request, reply) =>
      orAway(reply, async () => {
        // First: a body that never ends keeps nobody on the list.
        await presses.leave(request.params.token);
        await readBody(request.raw, BODY_BYTES);
        return sendPage(reply, 200, leftPage(parts));
      }),
  });
}
