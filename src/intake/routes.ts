/**
 * The two form routes (reference §4.4, §4.5). The routes answer with JSON, or with 303 and HTML to native forms (§4.7).
 */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { FormRefusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { forms } from '../forms/catalog.ts';
import { childTraceparent, ownReferer, parseTraceparent, type ReadBody } from '../http/request.ts';
import { at, pages, routes } from '../routes.ts';
import { type RenderProblemPage, sendProblem } from '../server/page-or-json.ts';
import type { TakeBody, TakeFromLimit } from '../server/rate-limits.ts';
import type { Page } from '../site/pages.ts';
import { openAnswerTimes } from './answer-time.ts';
import { encodingOf, type FormRequest } from './decode-form.ts';
import { isOwnNavigation, keyOf, openDoubleClicks } from './double-click.ts';
import { acceptLead } from './leads.ts';
import { renderRefusedPage } from './refused-page.ts';
import { type SubscribeParts, subscribe } from './subscribe.ts';

export type IntakeRouteParts = SubscribeParts & {
  takeFromLimit: TakeFromLimit;
  takeBody: TakeBody;
  renderProblemPage: RenderProblemPage;
  pages: () => Promise<readonly Page[]>;
};

/** Header with the reference that a person can name to the operator (reference §4.7). */
const REFERENCE = 'submission-reference';

const leads = {
  route: routes.submitLead,
  rate: 'leads',
  subscribes: false,
  bodyMaximum: bounds.leadBodyBytes,
  accept: acceptLead,
} as const;
const subscriptions = {
  route: routes.subscribeNewsletter,
  rate: 'subscribe',
  subscribes: true,
  bodyMaximum: bounds.subscribeBodyBytes,
  accept: subscribe,
} as const;

type Intake = typeof leads | typeof subscriptions;

/** Registers the routes of leads and subscriptions. */
export function registerIntake(app: FastifyInstance, parts: IntakeRouteParts): void {
  const doubleClicks = openDoubleClicks(parts.clock);
  const answerTimes = openAnswerTimes(parts.clock);

  const handle = async (request: FastifyRequest, reply: FastifyReply, intake: Intake) => {
    const contentType = request.headers['content-type'];
    const encoding = encodingOf(contentType);
    const isNative = encoding === 'urlencoded' || encoding === 'multipart';
    let body: Promise<ReadBody> | undefined;
    const form: FormRequest = {
      contentType,
      takeFromLimit: () => parts.takeFromLimit(intake.rate, request, reply),
      // The first call reads the body. Later calls get the same result.
      readBody: (maximum) => {
        body ??= parts.takeBody(request, reply, maximum);
        return body;
      },
      traceparent: childTraceparent(parseTraceparent(request.headers.traceparent)),
    };
    reply.header('cache-control', 'no-store');

    const run = async () => {
      const settled = await intake.accept(parts, form);
      await answerTimes.wait(settled);
      return settled;
    };
    const clicked = isNative && isOwnNavigation(request.raw) ? await form.readBody(intake.bodyMaximum) : undefined;
    const result =
      clicked?.kind === 'read' ? await doubleClicks.once(keyOf(request.raw, clicked.bytes), run) : await run();
    if (result.kind === 'accepted') {
      if (result.reference !== undefined) reply.header(REFERENCE, result.reference);
      if (!isNative) return reply.send({ ok: true });
      return reply.code(303).header('location', pages.thankYou.path).send();
    }
    if (!isNative) return sendProblem(reply, renderProblem(result, 'json'));
    const problem = renderProblem(result, 'native');
    const { status, body: answer } = problem;
    const page = await pageOf(request, form, result, intake, { status, sentence: answer.error, typed: true });
    return sendProblem(reply, problem, page);
  };

  /** Returns the form with the typed values. If that is impossible, returns a page with only the problem. */
  const pageOf = async (
    request: FastifyRequest,
    form: FormRequest,
    refusal: FormRefusal,
    intake: Intake,
    problem: Parameters<RenderProblemPage>[0],
  ): Promise<string> => {
    try {
      const shown = await parts.pages();
      const backTo = formPathOf(request, shown, intake);
      const page = await renderRefusedPage(shown, form, refusal, intake);
      return page ?? parts.renderProblemPage({ ...problem, backTo });
    } catch (error) {
      parts.log.error({ err: error }, 'page of refused form not rendered');
      return parts.renderProblemPage(problem);
    }
  };

  for (const intake of [leads, subscriptions]) {
    app.route({ ...at(intake.route), handler: (request, reply) => handle(request, reply, intake) });
  }
}

/**
 * Returns the path of the page with the form: the page that the `Referer` names, or for a subscription the newsletter
 * page. Returns undefined for a lead whose `Referer` names no page with a form.
 */
function formPathOf(
  { headers, hostname }: FastifyRequest,
  pages: readonly Page[],
  { subscribes }: Intake,
): string | undefined {
  const from = ownReferer(headers.referer, hostname);
  const page =
    pages.find(({ form, path }) => form !== undefined && from === path) ??
    pages.find(({ form }) => subscribes && form === forms.newsletter);
  return page?.path;
}
