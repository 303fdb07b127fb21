/** The routes of a subscriber's two links (reference §9.7). GET changes nothing. Unsubscribing follows RFC 8058. */
import type { FastifyInstance, FastifyReply } from 'fastify';
import type { NewsletterRefusal } from '../failures/refusals.ts';
import { readBody } from '../http/request.ts';
import type { Log } from '../platform/log.ts';
import { pathTo, routes } from '../routes.ts';
import type { TakeFromLimit } from '../server/rate-limits.ts';
import { atSecret } from '../server/secret-paths.ts';
import { StorageUnavailable } from '../storage/database.ts';
import type { SubscriptionLinks } from './confirm-and-unsubscribe.ts';
import { confirmPage, type PageParts, refusedPage, unsubscribePage } from './page.ts';
import type { Subscribers } from './subscribers.ts';

/** Maximum number of bytes that are read of a body. The content of the body is ignored. */
const BODY_BYTES = 8_000;

const RETRY_AFTER_SECONDS = 30;

export type NewsletterRouteParts = PageParts & {
  log: Log;
  subscribers: Pick<Subscribers, 'findByConfirmToken'>;
  subscriptionLinks: Pick<SubscriptionLinks, 'confirm' | 'unsubscribe'>;
  takeFromLimit: TakeFromLimit;
};

type OfToken = { Params: { token: string } };

/** Registers the pages where a subscriber confirms and unsubscribes, and the posts of their buttons. */
export function registerNewsletter(app: FastifyInstance, parts: NewsletterRouteParts): void {
  const { subscribers, subscriptionLinks, takeFromLimit } = parts;

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

  /** Answers with a page if the database is unavailable. The person can open the link again later. */
  const orUnavailable = async (reply: FastifyReply, run: () => Promise<FastifyReply>) => {
    try {
      return await run();
    } catch (error) {
      if (!(error instanceof StorageUnavailable)) throw error;
      parts.log.error({ err: error }, 'the store is unavailable');
      return refuse(reply, { kind: 'newsletterUnknown', retryAfterSeconds: RETRY_AFTER_SECONDS });
    }
  };

  for (const route of [routes.newsletterPage, routes.confirmSubscription]) {
    app.route<OfToken>({
      ...atSecret(route),
      handler: (request, reply) =>
        orUnavailable(reply, async () => {
          const rate = await takeFromLimit('newsletter', request, reply);
          if (rate.exceeded) {
            return refuse(reply, { kind: 'newsletterTooOften', retryAfterSeconds: rate.resetSeconds });
          }
          const { token } = request.params;
          if (route.method === 'POST') await subscriptionLinks.confirm(token);
          const row = await subscribers.findByConfirmToken(token);
          if (route.method === 'POST') await readBody(request.raw, BODY_BYTES);
          if (row === undefined) return refuse(reply, { kind: 'unknownSubscription' });
          if (route.method === 'GET') return sendPage(reply, 200, confirmPage(parts, row));
          const location = pathTo(routes.newsletterPage, { token });
          return reply.code(303).headers({ 'cache-control': 'no-store', location }).send();
        }),
    });
  }

  app.route<OfToken>({
    ...atSecret(routes.leavePage),
    handler: (_request, reply) => sendPage(reply, 200, unsubscribePage(parts, 'leave')),
  });
  app.route<OfToken>({
    ...atSecret(routes.leaveNewsletter),
    handler: (request, reply) =>
      orUnavailable(reply, async () => {
        // The change comes before the body is read, so that a body that never ends can't prevent it.
        await subscriptionLinks.unsubscribe(request.params.token);
        await readBody(request.raw, BODY_BYTES);
        return sendPage(reply, 200, unsubscribePage(parts, 'leftNow'));
      }),
  });
}
