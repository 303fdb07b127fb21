/** The two form routes: JSON, or 303 and HTML, by how it was asked (spec §4.6, §4.7, §7.2; contract §4). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FormRefusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { forms } from '../forms/catalog.ts';
import { childTraceparent, parseTraceparent } from '../http/headers.ts';
import type { ReadBody } from '../http/read-body.ts';
import { ownReferer } from '../http/referer.ts';
import type { RateName } from '../limits/limits.ts';
import { at, pages, routes } from '../routes.ts';
import type { TakeFromLimit } from '../server/limiting.ts';
import type { RenderProblemPage } from '../server/page-or-json.ts';
import type { TakeBody } from '../server/refused-bodies.ts';
import type { Page } from '../site/pages.ts';
import { openAnswerTimes } from './answer-time.ts';
import { encodingOf, type FormRequest } from './decode-form.ts';
import { isOwnNavigation, keyOf, openDoubleClicks } from './double-click.ts';
import { acceptLead, type FormResult } from './leads.ts';
import { type FormRoute, renderRefusedPage } from './refused-page.ts';
import { type SubscribeParts, subscribe } from './subscribe.ts';

export type IntakeRouteParts = SubscribeParts & {
  takeFromLimit: TakeFromLimit;
  takeBody: TakeBody;
  renderProblemPage: RenderProblemPage;
  pages: () => readonly Page[];
};

/** A person's own: what they may ask the operator about (beyond §1). */
const REFERENCE = 'submission-reference';

type Route = FormRoute & { rate: RateName };

const LEADS: Route = { rate: 'leads', subscribes: false, bodyMaximum: bounds.leadBodyBytes };
const SUBSCRIBE: Route = {
  rate: 'subscribe',
  subscribes: true,
  bodyMaximum: bounds.subscribeBodyBytes,
};

/** Registers `/api/leads` and `/api/subscribe`. */
export function registerIntake(app: FastifyInstance, parts: IntakeRouteParts): void {
  const doubleClicks = openDoubleClicks(parts.clock);
  const answerTimes = openAnswerTimes(parts.clock);

  const handle = async (
    request: FastifyRequest,
    reply: FastifyReply,
    route: Route,
    chain: (form: FormRequest) => Promise<FormResult>,
  ) => {
    const encoding = encodingOf(request.headers['content-type']);
    const isNative = encoding === 'urlencoded' || encoding === 'multipart';
    let body: Promise<ReadBody> | undefined;
    const form: FormRequest = {
      contentType: request.headers['content-type'],
      takeFromLimit: () => parts.takeFromLimit(route.rate, request, reply),
      // Read once, whoever asks first.
      readBody: (maximum) => {
        body ??= parts.takeBody(request, reply, maximum);
        return body;
      },
      traceparent: childTraceparent(parseTraceparent(request.headers.traceparent)),
    };
    reply.header('cache-control', 'no-store');

    const run = async () => {
      const settled = await chain(form);
      await answerTimes.wait(settled);
      return settled;
    };
    const result = await runOnce(request, form, isNative, run, route);
    if (result.kind === 'accepted' && result.reference !== undefined) {
      reply.header(REFERENCE, result.reference);
    }
    if (!isNative) return answerJson(reply, result);
    if (result.kind === 'accepted')
      return reply.code(303).header('location', pages.thankYou.path).send();
    const { status, headers, body: problem } = renderProblem(result, 'native');
    const page = await pageOf(request, form, result, route, {
      status,
      sentence: problem.error,
      typed: true,
    });
    return reply.code(status).headers(headers).type('text/html; charset=utf-8').send(page);
  };

  /** The form with what was typed, or what went wrong alone: also where a page can't be made. */
  const pageOf = async (
    request: FastifyRequest,
    form: FormRequest,
    refusal: FormRefusal,
    route: Route,
    problem: Parameters<RenderProblemPage>[0],
  ): Promise<string> => {
    try {
      const shown = parts.pages();
      const backTo = cameFrom(request, shown, route);
      const page = await renderRefusedPage(shown, form, refusal, route);
      return page ?? parts.renderProblemPage({ ...problem, backTo });
    } catch (error) {
      parts.log.error({ err: error }, 'the page of a refused form could not be made');
      return parts.renderProblemPage(problem);
    }
  };

  const runOnce = async (
    { raw }: FastifyRequest,
    form: FormRequest,
    isNative: boolean,
    chain: () => Promise<FormResult>,
    { bodyMaximum }: Route,
  ): Promise<FormResult> => {
    if (!isNative || !isOwnNavigation(raw)) return await chain();
    const body = await form.readBody(bodyMaximum);
    if (body.kind !== 'read') return await chain();
    return await doubleClicks.once(keyOf(raw, body.bytes), chain);
  };

  app.route({
    ...at(routes.submitLead),
    handler: (request, reply) => handle(request, reply, LEADS, (form) => acceptLead(parts, form)),
  });
  app.route({
    ...at(routes.subscribeNewsletter),
    handler: (request, reply) =>
      handle(request, reply, SUBSCRIBE, (form) => subscribe(parts, form)),
  });
}

/**
 * The page of the form that was sent: what the browser says, where that is one of our own pages, and
 * nothing of it besides. A refused page stands at the route's own path; a subscription has one form.
 */
function cameFrom(
  { headers, hostname }: FastifyRequest,
  pages: readonly Page[],
  { subscribes }: Route,
): string | undefined {
  const from = ownReferer(headers.referer, hostname);
  const page =
    pages.find(({ form, path }) => form !== undefined && from === path) ??
    pages.find(({ form }) => subscribes && form === forms.newsletter);
  return page?.path;
}

function answerJson(reply: FastifyReply, result: FormResult): FastifyReply {
  if (result.kind === 'accepted') return reply.send({ ok: true });
  const { status, headers, body } = renderProblem(result, 'json');
  return reply.code(status).headers(headers).send(body);
}
