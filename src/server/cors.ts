/**
 * Cross-origin access. Any page may read discovery. Pages of listed origins may read the form routes (reference §3.9),
 * and pages of other listed origins the tools (reference §8.3). This includes refusals.
 */
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { routes } from '../routes.ts';
import type { Settings } from '../settings/settings.ts';
import { isDiscovery, isFormPath, isToolPath, pathOf } from './page-or-json.ts';

type Origin = string[] | '*' | false;
type SetOptions = (error: Error | null, options: { origin: Origin; exposedHeaders: string[] }) => void;

/**
 * Registers the form routes with CORS for these origins. The preflights of discovery are answered here as well. The
 * documents of discovery have their own CORS header.
 */
export async function registerWithCors(
  app: FastifyInstance,
  allowedOrigins: string[],
  register: (shared: FastifyInstance) => void,
): Promise<void> {
  await app.register(async (shared) => {
    await shared.register(cors, () => (request: FastifyRequest, set: SetOptions) => {
      const exposedHeaders = ['submission-reference', 'retry-after'];
      set(null, { origin: originsOf(request, allowedOrigins), exposedHeaders });
    });
    register(shared);
  });
}

function originsOf(request: FastifyRequest, allowedOrigins: string[]): Origin {
  // A request without these two headers is no preflight. Such a request uses a method that the path does not support.
  const { origin, 'access-control-request-method': wanted } = request.headers;
  if (request.method === 'OPTIONS' && (origin === undefined || wanted === undefined)) return false;
  // The route of a preflight matches every path.
  const route = request.routeOptions.url;
  const path = route === undefined || route === '*' ? pathOf(request.url) : route;
  if (isFormPath(path)) return allowedOrigins;
  const isMirror = path.endsWith('.md');
  return isDiscovery(path) || isMirror ? '*' : false;
}

/** Headers that clients of the Model Context Protocol send, and the header of their traces. */
const TOOL_HEADERS = [
  ...['authorization', 'content-type', 'traceparent'],
  ...['mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id'],
];
const TOOL_EXPOSED = [
  ...['www-authenticate', 'retry-after', 'ratelimit', 'ratelimit-policy', 'x-request-id'],
  ...['mcp-session-id', 'sandbox'],
];

/**
 * An origin of this machine, at any port: 127.0.0.0/8, ::1, the same range as IPv4-mapped addresses, and `localhost`.
 * Browsers resolve every name below `localhost` to this machine.
 */
const LOOPBACK =
  /^https?:\/\/(?:(?:[a-z0-9-]+\.)*localhost\.?|127(?:\.(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)){3}|\[::1\]|\[::ffff:7f[\da-f]{2}:[\da-f]{1,4}\])(?::\d{1,5})?$/;

export type IsToolOrigin = ReturnType<typeof toolOriginCheck>;

/** Returns a function that accepts the origins of the setting, and in local mode every origin of this machine. */
export function toolOriginCheck({ mode, mcpAllowedOrigins }: Pick<Settings, 'mode' | 'mcpAllowedOrigins'>) {
  const listed = new Set(mcpAllowedOrigins);
  return (origin: string): boolean => listed.has(origin) || (mode === 'local' && LOOPBACK.test(origin));
}

/** Registers the CORS headers of the tools and the answer to a preflight. Call it before any hook that refuses. */
export function registerToolCors(app: FastifyInstance, isToolOrigin: IsToolOrigin): void {
  const exposed = TOOL_EXPOSED.join(', ');
  const allowed = {
    'access-control-allow-methods': routes.mcp.method,
    'access-control-allow-headers': TOOL_HEADERS.join(', '),
  };
  app.addHook('onRequest', (request, reply, done) => {
    const { origin, 'access-control-request-method': wanted } = request.headers;
    if (origin === undefined || !isToolOrigin(origin)) return done();
    if (!isToolPath(pathOf(request.url))) return done();
    reply.headers({ vary: 'Origin', 'access-control-allow-origin': origin, 'access-control-expose-headers': exposed });
    if (request.method !== 'OPTIONS' || wanted === undefined) return done();
    return reply.code(204).headers(allowed).send();
  });
}
