/**
 * Reads the body of a request, unless its client sent too many large ones that were refused: those cost
 * more than they bring, and no other rate counts them (contract §4, "Slow and broken requests").
 */
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import { clientAddressReader } from '../http/client-address.ts';
import { type ReadBody, readBody } from '../http/read-body.ts';
import { openMemoryLimits } from '../limits/memory.ts';
import { clientOf } from './limiting.ts';

/** What a refused body is answered by; other statuses are about something else. */
const REFUSED: ReadonlySet<number> = new Set([400, 413]);

export type TakeBody = (
  request: FastifyRequest,
  reply: FastifyReply,
  maximum: number,
) => Promise<ReadBody>;

/** Takes the trusted proxies; returns what every route reads a body with, within so many bytes. */
export function bodyTaker(trustProxy: readonly string[], clock: Clock): TakeBody {
  const readClient = clientAddressReader(trustProxy);
  // It protects this process alone, whatever is shared with others.
  const limits = openMemoryLimits(clock);

  return async (request, reply, maximum) => {
    const body = await readBody(request.raw, maximum);
    if (sizeOf(body, request, maximum) <= bounds.refusedBodyBytes) return body;
    const { key } = clientOf(request, readClient);
    const rate = limits.look('refusedBodies', key);
    if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };
    reply.raw.once('finish', () => {
      if (REFUSED.has(reply.statusCode)) void limits.take('refusedBodies', key);
    });
    return body;
  };
}

/** In bytes; of one that was not read, what it said or what it is at least. */
function sizeOf(body: ReadBody, { headers }: FastifyRequest, maximum: number): number {
  if (body.kind === 'read') return body.bytes.length;
  const announced = Number(headers['content-length'] ?? 0);
  return body.kind === 'bodyTooLarge' ? Math.max(announced, maximum + 1) : announced;
}
