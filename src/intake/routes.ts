/** The two form routes: JSON, or 303 and HTML, by how it was asked (spec §4.6, §4.7, §7.2). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { operations } from '../discovery/openapi.ts';
import { readBody } from '../http/body.ts';
import { pageOf } from '../http/fallbacks.ts';
import { childTraceparent, contentType, parseTraceparent } from '../http/headers.ts';
import type { TakeFromLimit } from '../http/limiting.ts';
import { renderProblem } from '../http/render-problem.ts';
import type { RateName } from '../limits/limits.ts';
import type { Settings } from '../settings.ts';
import { renderErrorPage } from '../site/error-page.ts';
import { encodingOf, type FormRequest } from './body.ts';
import { acceptLead, type FormResult } from './leads.ts';
import { type SubscribeParts, subscribe } from './subscribe.ts';

export type IntakeRouteParts = SubscribeParts & {
  takeFromLimit: TakeFromLimit;
  operator: Settings['operator'];
};

/** Registers `/api/leads` and `/api/subscribe`. */
export function registerIntake(app: FastifyInstance, parts: IntakeRouteParts): void {
  const formRequest = (
    name: RateName,
    request: FastifyRequest,
    reply: FastifyReply,
  ): FormRequest => ({
    contentType: contentType(request.raw),
    takeFromLimit: () => parts.takeFromLimit(name, request, reply),
    readBody: (maximum) => readBody(request.raw, maximum),
    traceparent: childTraceparent(parseTraceparent(request.headers.traceparent)),
  });

  app.post('/api/leads', { schema: operations.submitLead }, async (request, reply) => {
    const result = await acceptLead(parts, formRequest('leads', request, reply));
    return answer(request, reply, result, '/', parts.operator);
  });

  app.post('/api/subscribe', { schema: operations.subscribeNewsletter }, async (request, reply) => {
    const result = await subscribe(parts, formRequest('subscribe', request, reply));
    return answer(request, reply, result, '/newsletter', parts.operator);
  });
}

/** Which of JSON or native the answer takes follows the request's content type (contract §4). */
function answer(
  request: FastifyRequest,
  reply: FastifyReply,
  result: FormResult,
  backTo: string,
  operator: Settings['operator'],
): FastifyReply {
  const encoding = encodingOf(contentType(request.raw));
  const native = encoding === 'urlencoded' || encoding === 'multipart';
  reply.header('cache-control', 'no-store');
  if (result.kind === 'accepted') {
    return native
      ? reply.code(303).header('location', '/thank-you').send()
      : reply.send({ ok: true });
  }
  const { status, headers, body } = renderProblem(result, native ? 'native' : 'json');
  reply.code(status).headers(headers);
  if (!native) return reply.send(body);
  const backToForm = result.form?.page ?? backTo;
  return reply
    .type('text/html; charset=utf-8')
    .send(
      renderErrorPage({ status, sentence: body.error, backTo: backToForm, ...pageOf(operator) }),
    );
}
