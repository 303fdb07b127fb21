/**
 * The documented operations, and the OpenAPI document derived from the routes that name them. What makes
 * it is loaded when it is first asked for (spec §9).
 */
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify';
import { once } from '../../once.ts';
import type { Facts } from '../facts.ts';
import type { OpenapiDocument } from '../reference/markdown.ts';
import { type OperationId, operationTable } from './operations.ts';

/**
 * The `schema` of each documented route. It holds nothing that Fastify acts on, so it never
 * validates a request or changes an answer; routes without one stay out of the document.
 */
export const operations = Object.fromEntries<FastifySchema>(
  Object.entries(operationTable).map(([operationId, { tag, summary }]) => [
    operationId,
    { operationId, tags: [tag], summary },
  ]),
) as Record<OperationId, FastifySchema>;

/**
 * Takes the application before any of its routes is registered, and the facts of the deployment;
 * returns what makes the document, once.
 */
export function registerOpenapi(
  app: FastifyInstance,
  facts: Facts,
): () => Promise<OpenapiDocument> {
  const routes: RouteOptions[] = [];
  app.addHook('onRoute', (route) => {
    if (route.schema?.operationId !== undefined && route.method !== 'HEAD') routes.push(route);
  });
  return once(async () => {
    const { generateDocument } = await import('./document.ts');
    return await generateDocument(routes, facts);
  });
}
