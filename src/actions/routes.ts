/** The two agent routes: takes the request apart, renders the result (spec §4.3, §4.4, §7.1). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { childTraceparent, headerLines, parseTraceparent } from '../http/headers.ts';
import { at, linkToReceipt, routes } from '../routes.ts';
import type { TakeFromLimit } from '../server/limiting.ts';
import type { TakeBody } from '../server/refused-bodies.ts';
import type { ExecuteResult } from './examine-preview.ts';
import { type ExecuteParts, execute } from './execute.ts';
import { type AgentRequest, type PreviewResult, preview } from './preview.ts';

type ActionRoute = { Params: { action: string } };

/** Registers preview and execute. */
export function registerActions(
  app: FastifyInstance,
  parts: ExecuteParts & { takeFromLimit: TakeFromLimit; takeBody: TakeBody },
): void {
  const agentRequest = (
    name: 'preview' | 'execute',
    request: FastifyRequest<ActionRoute>,
    reply: FastifyReply,
  ): AgentRequest => ({
    action: request.params.action,
    authorization: headerLines(request.raw, 'authorization'),
    takeFromLimit: () => parts.takeFromLimit(name, request, reply),
    readBody: () => parts.takeBody(request, reply, bounds.jsonBodyBytes),
  });

  app.route<ActionRoute>({
    ...at(routes.previewAction),
    handler: async (request, reply) =>
      answerPreview(reply, await preview(parts, agentRequest('preview', request, reply))),
  });

  app.route<ActionRoute>({
    ...at(routes.executeAction),
    handler: async (request, reply) => {
      const result = await execute(parts, {
        ...agentRequest('execute', request, reply),
        idempotencyKeys: headerLines(request.raw, 'idempotency-key'),
        traceparent: childTraceparent(parseTraceparent(request.headers.traceparent)),
      });
      return answerExecute(reply, result);
    },
  });
}

function answerPreview(reply: FastifyReply, result: PreviewResult): FastifyReply {
  reply.header('cache-control', 'no-store');
  if (result.kind === 'previewed') return reply.send(result.record);
  const { status, headers, body } = renderProblem(result, 'agent');
  return reply.code(status).headers(headers).send(body);
}

function answerExecute(reply: FastifyReply, result: ExecuteResult): FastifyReply {
  reply.header('cache-control', 'no-store');
  if (result.kind === 'submitted') {
    const { receipt, replay } = result;
    reply.header('link', linkToReceipt(receipt.action_id));
    if (replay) reply.header('idempotent-replayed', 'true');
    return reply.send(replay ? { ok: true, receipt, replay } : { ok: true, receipt });
  }
  const { status, headers, body } = renderProblem(result, 'agent');
  return reply.code(status).headers(headers).send(body);
}
