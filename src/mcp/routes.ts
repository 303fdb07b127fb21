/** `POST /mcp`: the checks before the protocol, in the order of reference §8.2. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { checkBearer } from '../credentials/file.ts';
import type { Refusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { childTraceparent, headerLines, isObject, parseJson, parseTraceparent } from '../http/request.ts';
import { once } from '../platform/lazy.ts';
import { at, routes } from '../routes.ts';
import type { IsToolOrigin } from '../server/cors.ts';
import { sendProblem } from '../server/page-or-json.ts';
import type { TakeBody, TakeFromLimit } from '../server/rate-limits.ts';
import type { ToolParts } from './calls.ts';

type McpParts = ToolParts & { takeFromLimit: TakeFromLimit; takeBody: TakeBody; isToolOrigin: IsToolOrigin };

/** The headers that the library reads. */
const PROTOCOL_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** No supported revision has batches. */
const BATCH_REFUSED = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32600, message: 'Send one message in a request: batches are not supported.' },
};

/** Registers the endpoint of the tools. */
export function registerMcp(app: FastifyInstance, parts: McpParts): void {
  const { origin } = new URL(parts.facts.baseUrl);
  const open = once(async () => (await import('./handler.ts')).openMcp(parts));

  app.route({
    ...at(routes.mcp),
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const admitted = await admit(parts, origin, request, reply);
      if (admitted.kind === 'batch') return reply.code(400).send(BATCH_REFUSED);
      if (admitted.kind !== 'admitted') return sendProblem(reply, renderProblem(admitted, 'agent'));
      const answer = await open();
      const headers = PROTOCOL_HEADERS.map((name) => [name, request.headers[name]]);
      const response = await answer({
        body: admitted.body,
        headers: Object.fromEntries(headers.filter(([, value]) => typeof value === 'string')),
        call: {
          authorization: headerLines(request.raw, 'authorization'),
          traceparent: childTraceparent(parseTraceparent(request.headers.traceparent)),
          takeFromLimit: (name) => parts.takeFromLimit(name, request, reply),
        },
      });
      return await sendResponse(reply, response);
    },
  });
}

/** Sends a response. JSON is sent at once, with its length. A client of 2025 gets the single event as a stream. */
async function sendResponse(reply: FastifyReply, response: Response): Promise<FastifyReply> {
  const type = response.headers.get('content-type');
  if (type?.startsWith('text/event-stream')) return reply.send(response);
  reply.code(response.status);
  if (type !== null) reply.type(type);
  return reply.send(await response.text());
}

type Admitted = { kind: 'admitted'; body: Record<string, unknown> } | { kind: 'batch' } | Refusal;

async function admit(parts: McpParts, origin: string, request: FastifyRequest, reply: FastifyReply): Promise<Admitted> {
  const rate = await parts.takeFromLimit('mcp', request, reply);
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  // A page of another site can make a browser call the tools. Only pages of listed origins may.
  const origins = headerLines(request.raw, 'origin');
  if (origins.some((each) => each !== origin && !parts.isToolOrigin(each))) return { kind: 'foreignOrigin' };

  const caller = checkBearer(parts.credentials, headerLines(request.raw, 'authorization'));
  if (caller.kind !== 'client') return { kind: 'unauthenticated', credentialSent: caller.kind === 'invalid' };

  const body = await parts.takeBody(request, reply, bounds.jsonBodyBytes);
  if (body.kind !== 'read') return body;
  const json = parseJson(body.bytes);
  if (json.kind !== 'value') return json;
  if (Array.isArray(json.value)) return { kind: 'batch' };
  return isObject(json.value) ? { kind: 'admitted', body: json.value } : { kind: 'invalidJson' };
}
