/** Routes of preview and execute (reference §5.3, §5.6). */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { childTraceparent, headerLines, parseJsonObject, parseTraceparent } from '../http/request.ts';
import { at, linkToReceipt, routes } from '../routes.ts';
import { sendProblem } from '../server/page-or-json.ts';
import type { TakeBody, TakeFromLimit } from '../server/rate-limits.ts';
import { type ExecuteParts, execute } from './execute.ts';
import { type PreviewResult, preview } from './preview.ts';
import type { ExecuteResult } from './preview-token.ts';

type ActionRoute = { Params: { action: string } };

/** Registers the routes of preview and execute. */
export function registerActions(
  app: FastifyInstance,
  parts: ExecuteParts & { takeFromLimit: TakeFromLimit; takeBody: TakeBody },
): void {
  const agentRequest = (name: 'preview' | 'execute', request: FastifyRequest<ActionRoute>, reply: FastifyReply) => ({
    action: request.params.action,
    authorization: headerLines(request.raw, 'authorization'),
    takeFromLimit: () => parts.takeFromLimit(name, request, reply),
    onSandbox: () => reply.header('sandbox', 'true'),
  });

  app.route<ActionRoute>({
    ...at(routes.previewAction),
    handler: async (request, reply) => {
      const readFields = async () => {
        const body = await parts.takeBody(request, reply, bounds.jsonBodyBytes);
        return body.kind === 'read' ? parseJsonObject(body.bytes) : body;
      };
      return answerPreview(reply, await preview(parts, { ...agentRequest('preview', request, reply), readFields }));
    },
  });

  app.route<ActionRoute>({
    ...at(routes.executeAction),
    handler: async (request, reply) => {
      const result = await execute(parts, {
        ...agentRequest('execute', request, reply),
        readBody: () => parts.takeBody(request, reply, bounds.jsonBodyBytes),
        idempotencyKeys: headerLines(request.raw, 'idempotency-key'),
        traceparent: childTraceparent(parseTraceparent(request.headers.traceparent)),
      });
      return answerExecute(reply, result);
    },
  });
}

function answerPreview(reply: FastifyReply, result: PreviewResult): FastifyReply {
  reply.header('cache-control', 'no-store');
  if (result.kind !== 'previewed') return sendProblem(reply, renderProblem(result, 'agent'));
  if (result.ignored.length > 0) reply.header('ignored-fields', result.ignored.join(', '));
  return reply.send(result.record);
}

function answerExecute(reply: FastifyReply, result: ExecuteResult): FastifyReply {
  reply.header('cache-control', 'no-store');
  if (result.kind === 'submitted') {
    const { receipt, replay } = result;
    reply.header('link', linkToReceipt(receipt.action_id));
    if (replay) reply.header('idempotent-replayed', 'true');
    return reply.send(replay ? { ok: true, receipt, replay } : { ok: true, receipt });
  }
  return sendProblem(reply, renderProblem(result, 'agent'));
}
