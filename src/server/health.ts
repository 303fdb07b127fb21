/** Liveness and readiness. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../platform/clock.ts';
import { at, routes } from '../routes.ts';
import type { Storage } from '../storage/database.ts';

/** Time limit for the store's answer. After it, the store counts as unavailable. */
const CHECK_TIMEOUT_MS = 2_000;

/**
 * Registers `/healthz` (the process answers) and `/readyz` (503 while the process drains or the store is unavailable).
 * A proxy polls `/readyz?exclude=store`. Without the store, instances still answer many requests.
 */
export function registerHealth(
  app: FastifyInstance,
  { storage, clock, isDraining }: { storage: Storage; clock: Clock; isDraining: () => boolean },
): void {
  app.route({
    ...at(routes.liveness),
    handler: async (_request, reply) => reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  });

  app.route<{ Querystring: { exclude?: unknown } }>({
    ...at(routes.readiness),
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      if (isDraining()) return reply.code(503).send({ status: 'draining' });
      const ready = request.query.exclude === 'store' || (await answersInTime(storage, clock));
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'store unavailable' });
    },
  });
}

/** Returns true if the store executes a statement within the time limit. */
export function answersInTime(storage: Pick<Storage, 'check'>, clock: Clock): Promise<boolean> {
  return new Promise((resolve) => {
    const cancel = clock.after(CHECK_TIMEOUT_MS, () => resolve(false));
    const end = (answered: boolean) => {
      cancel();
      resolve(answered);
    };
    storage.check().then(
      () => end(true),
      () => end(false),
    );
  });
}
