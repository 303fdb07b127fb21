/** `POST /mcp`: what comes before the protocol, in the order of beyond §3; GET and DELETE are 405 by the list. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { checkBearer } from '../credentials/check.ts';
import type { Refusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { childTraceparent, headerLines, parseTraceparent } from '../http/headers.ts';
import { decodeUtf8, parseJsonObject } from '../http/read-body.ts';
import { once } from '../once.ts';
import { at, routes } from '../routes.ts';
import type { TakeFromLimit } from '../server/limiting.ts';
import type { TakeBody } from '../server/refused-bodies.ts';
import type { ToolParts } from './calls.ts';

type McpParts = ToolParts & { takeFromLimit: TakeFromLimit; takeBody: TakeBody };

/** All that the library looks at. */
const PROTOCOL_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name'] as const;

/** No revision that is served has batches. */
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
      if (admitted.kind !== 'admitted') return refuse(reply, admitted);
      const answer = await open();
      const response = await answer({
        body: admitted.body,
        headers: protocolHeaders(request),
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

/** JSON at once, with its length; the one event of a client of 2025 as it comes. */
async function sendResponse(
  reply: FastifyReply,
  response: Response | string,
): Promise<FastifyReply> {
  if (typeof response === 'string') return reply.type('application/json').send(response);
  const type = response.headers.get('content-type');
  if (type?.startsWith('text/event-stream')) return reply.send(response);
  reply.code(response.status);
  if (type !== null) reply.type(type);
  return reply.send(await response.text());
}

type Admitted = { kind: 'admitted'; body: Record<string, unknown> } | { kind: 'batch' } | Refusal;

async function admit(
  parts: McpParts,
  origin: string,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Admitted> {
  const rate = await parts.takeFromLimit('mcp', request, reply);
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  // A page of another site can have a browser ask for it: none of them reads or sends anything here.
  const origins = headerLines(request.raw, 'origin');
  if (origins.some((each) => each !== origin)) return { kind: 'foreignOrigin' };

  const caller = checkBearer(parts.credentials, headerLines(request.raw, 'authorization'));
  if (caller.kind !== 'client') {
    return { kind: 'unauthenticated', credentialSent: caller.kind === 'invalid' };
  }

  const body = await parts.takeBody(request, reply, bounds.jsonBodyBytes);
  if (body.kind !== 'read') return body;
  const json = parseJsonObject(body.bytes);
  if (json.kind === 'object') return { kind: 'admitted', body: json.value };
  return json.kind === 'invalidJson' && isJsonArray(body.bytes) ? { kind: 'batch' } : json;
}

function isJsonArray(bytes: Buffer): boolean {
  try {
    return Array.isArray(JSON.parse(decodeUtf8(bytes) ?? ''));
  } catch {
    return false;
  }
}

function protocolHeaders({ headers }: FastifyRequest): Record<string, string> {
  const given = PROTOCOL_HEADERS.flatMap((name) => {
    const value = headers[name];
    return typeof value === 'string' ? [[name, value]] : [];
  });
  return Object.fromEntries(given);
}

function refuse(reply: FastifyReply, refusal: Refusal): FastifyReply {
  const { status, headers, body } = renderProblem(refusal, 'agent');
  return reply.code(status).headers(headers).send(body);
}
