/** No route has a schema: Fastify's own compilers are not even loaded. */
import type { FastifyServerOptions } from 'fastify';

export const NO_COMPILERS = {
  buildValidator: () => () => () => true,
  buildSerializer: () => () => JSON.stringify,
} as unknown as NonNullable<
  NonNullable<FastifyServerOptions['schemaController']>['compilersFactory']
>;
