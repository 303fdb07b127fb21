/** The endpoints of the tools: the checks before the protocol, in the order of reference §8.2. */
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Authorization, callerOf, checkBearer } from '../credentials/file.ts';
import type { Refusal } from '../failures/refusals.ts';
import { renderProblem } from '../failures/render.ts';
import { bounds } from '../forms/bounds.ts';
import { childTraceparent, headerLines, isObject, parseJson, parseTraceparent } from '../http/request.ts';
import type { RateName } from '../limits/limits.ts';
import { once } from '../platform/lazy.ts';
import type { Route } from '../route-groups.ts';
import { at, routes } from '../routes.ts';
import type { IsToolOrigin } from '../server/cors.ts';
import { sendProblem } from '../server/page-or-json.ts';
import type { TakeBody, TakeFromLimit } from '../server/rate-limits.ts';
import type { McpMessage } from './answers.ts';
import { SESSION_HEADER } from './apps.ts';
import type { ToolParts } from './calls.ts';
import type { HandOffParts } from './hand-off.ts';

type HttpParts = { takeFromLimit: TakeFromLimit; takeBody: TakeBody; isToolOrigin: IsToolOrigin };
type McpParts = ToolParts &
  HandOffParts &
  HttpParts & {
    /** The endpoint for access tokens of this service. Undefined if OAuth is off. */
    connect: { challenge: string; checkAccess: CheckCaller } | undefined;
  };

/** Returns the authority of a request from its `Authorization` lines, or why it has none. */
type CheckCaller = (lines: readonly string[]) => Promise<Authorization | 'missing' | 'invalid'>;

type Endpoint = {
  route: Route;
  rate: RateName;
  /** Undefined if anybody may call the tools. */
  checkCaller?: CheckCaller;
  /** Replaces the challenge of a 401. */
  challenge?: string;
  /** Loads the protocol and returns the function that answers a message. */
  open(): Promise<(message: McpMessage) => Promise<Response>>;
};

/** The headers that the protocol reads. */
const PROTOCOL_HEADERS = ['mcp-protocol-version', 'mcp-method', 'mcp-name', SESSION_HEADER] as const;

/** No supported revision has batches. */
const BATCH_REFUSED = {
  jsonrpc: '2.0',
  id: null,
  error: { code: -32600, message: 'Send one message in a request: batches are not supported.' },
};

/**
 * Registers the endpoints for clients with a credential and for hosts with OAuth (reference §26.2), which have the same
 * tools, and the endpoint for anybody (reference §8.11).
 */
export function registerMcp(app: FastifyInstance, parts: McpParts): void {
  const handler = () => import('./handler.ts');
  const open = once(async () => (await handler()).openMcp(parts, (await import('./calls.ts')).agentTools(parts)));
  const checkCaller: CheckCaller = async (lines) => {
    const { kind } = checkBearer(parts.credentials, lines);
    return kind === 'client' ? lines : kind;
  };
  registerEndpoint(app, parts, { route: routes.mcp, rate: 'mcp', checkCaller, open });
  if (parts.connect !== undefined) {
    const { challenge, checkAccess } = parts.connect;
    registerEndpoint(app, parts, { route: routes.connect, rate: 'connect', checkCaller: checkAccess, challenge, open });
  }
  registerEndpoint(app, parts, {
    route: routes.handOff,
    rate: 'handOffs',
    open: once(async () => (await handler()).openMcp(parts, (await import('./hand-off.ts')).handOffTools(parts))),
  });
}

function registerEndpoint(app: FastifyInstance, parts: McpParts, endpoint: Endpoint): void {
  app.route({
    ...at(endpoint.route),
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const admitted = await admit(parts, endpoint, request, reply);
      if (admitted.kind === 'batch') return reply.code(400).send(BATCH_REFUSED);
      if (admitted.kind !== 'admitted') {
        const problem = renderProblem(admitted, 'agent');
        const { challenge } = endpoint;
        if (problem.status === 401 && challenge !== undefined) problem.headers['www-authenticate'] = challenge;
        return sendProblem(reply, problem);
      }
      const answer = await endpoint.open();
      const headers = PROTOCOL_HEADERS.map((name) => [name, request.headers[name]]);
      const response = await answer({
        body: admitted.body,
        headers: Object.fromEntries(headers.filter(([, value]) => typeof value === 'string')),
        call: {
          authorization: admitted.authorization,
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
  const session = response.headers.get(SESSION_HEADER);
  if (session !== null) reply.header(SESSION_HEADER, session);
  if (type !== null) reply.type(type);
  return reply.send(await response.text());
}

type Admitted =
  | { kind: 'admitted'; body: Record<string, unknown>; authorization: Authorization }
  | { kind: 'batch' }
  | Refusal;

async function admit(
  parts: McpParts,
  { rate: name, checkCaller }: Endpoint,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<Admitted> {
  const rate = await parts.takeFromLimit(name, request, reply);
  if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };

  // A page of another site can make a browser call the tools. Only pages of listed origins may.
  const { origin } = new URL(parts.facts.baseUrl);
  const origins = headerLines(request.raw, 'origin');
  if (origins.some((each) => each !== origin && !parts.isToolOrigin(each))) return { kind: 'foreignOrigin' };

  const authorization = (await checkCaller?.(headerLines(request.raw, 'authorization'))) ?? [];
  if (typeof authorization === 'string')
    return { kind: 'unauthenticated', credentialSent: authorization === 'invalid' };
  if (checkCaller !== undefined) {
    const caller = callerOf(parts.credentials, authorization);
    if (caller.kind === 'client' && caller.sandbox) reply.header('sandbox', 'true');
  }

  const body = await parts.takeBody(request, reply, bounds.jsonBodyBytes);
  if (body.kind !== 'read') return body;
  const json = parseJson(body.bytes);
  if (json.kind !== 'value') return json;
  if (Array.isArray(json.value)) return { kind: 'batch' };
  if (!isObject(json.value)) return { kind: 'invalidJson' };
  return { kind: 'admitted', body: json.value, authorization };
}
