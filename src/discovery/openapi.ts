/**
 * OpenAPI 3.1.1, derived from the routes themselves: `@fastify/swagger` sees every route that is
 * registered after it and gives method and path; what stands there comes from `operationTable`,
 * the catalogue of forms and the failure catalogue (spec §9).
 */
import swagger from '@fastify/swagger';
import type { FastifyInstance, FastifySchema } from 'fastify';
import type { Facts } from './facts.ts';
import { type DocumentedPaths, documentFrame, fillPaths } from './openapi-document.ts';
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

/** Takes the application before any of its routes is registered, and the facts of the deployment. */
export async function registerOpenapi(app: FastifyInstance, facts: Facts): Promise<void> {
  await app.register(swagger, {
    openapi: { openapi: '3.1.1', info: { title: '', version: '' } },
    hideUntagged: true,
    // The base address may hold a path; a route never does.
    stripBasePath: false,
    transformObject: (generated) => {
      const { paths } = 'openapiObject' in generated ? generated.openapiObject : {};
      return {
        ...documentFrame(facts),
        paths: fillPaths(paths as DocumentedPaths, facts),
      } as object;
    },
  });
}
