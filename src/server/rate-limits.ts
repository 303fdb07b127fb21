/** Counts requests and refused bodies by the address of their client (reference §3.4). */
import type { FastifyReply, FastifyRequest } from 'fastify';
import { bounds } from '../forms/bounds.ts';
import { type ClientAddress, clientAddressReader } from '../http/client-address.ts';
import { type ReadBody, readBody } from '../http/request.ts';
import { eachRate, type Limits, openMemoryLimits, type Rate, type RateName } from '../limits/limits.ts';
import type { Clock } from '../platform/clock.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';

const WARN_EVERY_MS = 60_000;

/** Statuses of an answer that refuses the body. */
const REFUSED: ReadonlySet<number> = new Set([400, 413]);

const policies = eachRate(({ limit, windowSeconds }, name) => `"${name}";q=${limit};w=${windowSeconds}`);

export type TakeFromLimit = (name: RateName, request: FastifyRequest, reply: FastifyReply) => Promise<Rate>;

/** Takes back one counted request of the client. */
export type GiveBack = (name: RateName, request: FastifyRequest) => Promise<void>;

export type TakeBody = (request: FastifyRequest, reply: FastifyReply, maximum: number) => Promise<ReadBody>;

type ClientOf = (request: FastifyRequest) => ClientAddress;

/** Returns a function that reads the client of a request behind trusted proxies. */
export function clientReader(trustProxy: readonly string[]): ClientOf {
  const readClient = clientAddressReader(trustProxy);
  return ({ headers, socket }) => {
    const forwardedFor = headers['x-forwarded-for'];
    return readClient(socket.remoteAddress ?? '', Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor);
  };
}

/**
 * Returns the function that counts a request and sends the rate in the headers of the IETF draft-11. The function also
 * counts ignored `X-Forwarded-For` headers and warns once a minute. Behind a proxy without `TRUST_PROXY`, all visitors
 * share one limit (reference §3.4 rule 5).
 */
export function rateTaker(
  clientOf: ClientOf,
  parts: { limits: Limits; clock: Clock; log: Log; metrics: Pick<Metrics, 'countIgnoredForwardedFor'> },
): TakeFromLimit {
  const { limits, clock, log, metrics } = parts;
  let warnedAt = Number.NEGATIVE_INFINITY;

  const warn = () => {
    metrics.countIgnoredForwardedFor();
    if (clock.monotonic() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = clock.monotonic();
    log.warn('X-Forwarded-For from a peer outside TRUST_PROXY ignored');
  };

  return async (name, request, reply) => {
    const client = clientOf(request);
    if (client.ignoredForwardedFor) warn();
    const rate = await limits.take(name, client.key);
    // A filled honeypot does not count as a lead. If only the other answers had the header, it would reveal the
    // honeypot (reference §4.10 rule 5).
    if (name === 'leads' && !rate.exceeded) return rate;
    reply.header('ratelimit-policy', policies[name]);
    reply.header('ratelimit', `"${name}";r=${rate.remaining};t=${rate.resetSeconds}`);
    return rate;
  };
}

/** Returns the function that takes back one counted request. */
export function rateGiver(clientOf: ClientOf, limits: Limits): GiveBack {
  return (name, request) => limits.giveBack(name, clientOf(request).key);
}

/**
 * Returns the function that reads a body of at most `maximum` bytes. The function refuses a client after too many
 * refused large bodies. No other rate counts refused bodies (reference §3.4 rule 5).
 */
export function bodyTaker(clientOf: ClientOf, clock: Clock): TakeBody {
  // This limit protects the process itself, so instances do not share it.
  const limits = openMemoryLimits(clock);

  return async (request, reply, maximum) => {
    const body = await readBody(request.raw, maximum);
    if (sizeOf(body, request, maximum) <= bounds.refusedBodyBytes) return body;
    const { key } = clientOf(request);
    const rate = limits.peek('refusedBodies', key);
    if (rate.exceeded) return { kind: 'rateLimited', retryAfterSeconds: rate.resetSeconds };
    reply.raw.once('finish', () => {
      if (REFUSED.has(reply.statusCode)) void limits.take('refusedBodies', key);
    });
    return body;
  };
}

/** Returns the size in bytes. For an unread body it is the announced or the least possible size. */
function sizeOf(body: ReadBody, { headers }: FastifyRequest, maximum: number): number {
  if (body.kind === 'read') return body.bytes.length;
  const announced = Number(headers['content-length'] ?? 0);
  return body.kind === 'bodyTooLarge' ? Math.max(announced, maximum + 1) : announced;
}
