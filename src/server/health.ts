/** Liveness and readiness. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import { at, routes } from '../routes.ts';
import type { Storage } from '../storage/database.ts';

/** How long the store may take before it counts as away, in milliseconds. */
const CHECK_TIMEOUT_MS = 2_000;

/**
 * Registers `/healthz` (the process answers) and `/readyz` (it can keep what it is given: 503 while
 * it drains or while the store is away). A proxy asks `/readyz?exclude=store`: it has to leave a
 * draining instance, but without the store every instance still answers much of what comes.
 */
export function registerHealth(
  app: FastifyInstance,
  parts: { storage: Storage; clock: Clock; isDraining: () => boolean },
): void {
  app.route({
    ...at(routes.liveness),
    handler: async (_request, reply) =>
      reply.header('cache-control', 'no-store').send({ status: 'ok' }),
  });

  app.route<{ Querystring: { exclude?: unknown } }>({
    ...at(routes.readiness),
    handler: async (request, reply) => {
      reply.header('cache-control', 'no-store');
      if (parts.isDraining()) return reply.code(503).send({ status: 'draining' });
      if (request.query.exclude === 'store') return reply.send({ status: 'ready' });
      const ready = await answersInTime(parts.storage, parts.clock);
      return reply.code(ready ? 200 : 503).send({ status: ready ? 'ready' : 'store unavailable' });
    },
  });
}

/** Whether the store takes a statement now; a hanging one counts as away. */
export async function answersInTime(
  storage: Pick<Storage, 'check'>,
  clock: Clock,
): Promise<boolean> {
  let callOff = () => {};
  const late = new Promise<boolean>((resolve) => {
    callOff = clock.after(CHECK_TIMEOUT_MS, () => resolve(false));
  });
  const check = storage.check().then(
    () => true,
    () => false,
  );
  try {
    return await Promise.race([check, late]);
  } finally {
    callOff();
  }
}
