/** Who may read the answers from another origin's page: everybody on discovery (contract §4). */
import cors from '@fastify/cors';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { isDiscovery, isFormPath, isMirror, pathOf } from './page-or-json.ts';

type TellOrigin = (
  error: Error | null,
  options: { origin: string[] | '*' | false; exposedHeaders: string[] },
) => void;

/** What a form on another site may read of an answer besides its body. */
const EXPOSED = ['submission-reference', 'retry-after'];

/**
 * Takes what registers the form routes and the origins whose pages may call them. The preflights of discovery
 * are answered as well; its own answers say by themselves that anybody may read them.
 */
export async function registerWithCors(
  app: FastifyInstance,
  allowedOrigins: string[],
  register: (shared: FastifyInstance) => void,
): Promise<void> {
  await app.register(async (shared) => {
    const tellOrigins = (request: FastifyRequest, tell: TellOrigin) => {
      tell(null, { origin: originsOf(request, allowedOrigins), exposedHeaders: EXPOSED });
    };
    // Called, not registered: what Fastify does before (which versions fit, a queue of its own) is a hundredth of a start.
    cors(shared, tellOrigins, (error) => {
      if (error !== undefined) throw error;
      register(shared);
    });
  });
}

function originsOf(request: FastifyRequest, allowedOrigins: string[]): string[] | '*' | false {
  // Without these two it is no preflight, but a method that the path does not take.
  const { origin, 'access-control-request-method': wanted } = request.headers;
  if (request.method === 'OPTIONS' && (origin === undefined || wanted === undefined)) return false;
  // A form's own route says where it is; a preflight's takes every path.
  const route = request.routeOptions.url;
  const path = route === undefined || route === '*' ? pathOf(request.url) : route;
  if (isFormPath(path)) return allowedOrigins;
  return isDiscovery(path) || isMirror(path) ? '*' : false;
}
