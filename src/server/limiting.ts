/** Counts a request by its client's address, and says so in the headers of the IETF draft-11. */

import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../clock.ts';
import { bounds } from '../forms/bounds.ts';
import { clientAddressReader } from '../http/client-address.ts';
import type { Limits, Rate, RateName } from '../limits/limits.ts';
import type { Log } from '../operations/log.ts';

const WARN_EVERY_MS = 60_000;

const policies = Object.fromEntries(
  Object.entries(bounds.rates).map(([name, { limit, windowSeconds }]) => [
    name,
    `"${name}";q=${limit};w=${windowSeconds}`,
  ]),
);

export type TakeFromLimit = (
  name: RateName,
  request: FastifyRequest,
  reply: FastifyReply,
) => Promise<Rate>;

/**
 * Takes the limits and the trusted proxies; returns the function every limited route counts with.
 * An `X-Forwarded-For` that is ignored is counted, and warned about once a minute: unset behind a
 * proxy, `TRUST_PROXY` makes the whole world share one limit (contract §4).
 */
export function rateTaker(
  limits: Limits,
  trustProxy: readonly string[],
  parts: { clock: Clock; log: Log; countIgnoredForwardedFor: () => void },
): TakeFromLimit {
  const readClient = clientAddressReader(trustProxy);
  let warnedAt = Number.NEGATIVE_INFINITY;

  const warn = () => {
    parts.countIgnoredForwardedFor();
    if (parts.clock.monotonic() - warnedAt < WARN_EVERY_MS) return;
    warnedAt = parts.clock.monotonic();
    parts.log.warn('X-Forwarded-For from a peer outside TRUST_PROXY is ignored');
  };

  return async (name, request, reply) => {
    const client = clientOf(request, readClient);
    if (client.ignoredForwardedFor) warn();
    const rate = await limits.take(name, client.key);
    // A filled honeypot does not count towards the leads: a number on the others' answers would tell it (contract §4).
    if (name === 'leads' && !rate.exceeded) return rate;
    reply.header('ratelimit-policy', policies[name]);
    reply.header('ratelimit', `"${name}";r=${rate.remaining};t=${rate.resetSeconds}`);
    return rate;
  };
}

/** Whose request it is, by the rules of contract §4, "Client address". */
export function clientOf(
  { headers, socket }: FastifyRequest,
  readClient: ReturnType<typeof clientAddressReader>,
): ReturnType<typeof readClient> {
  const forwardedFor = headers['x-forwarded-for'];
  return readClient(
    socket.remoteAddress ?? '',
    Array.isArray(forwardedFor) ? forwardedFor.join(',') : forwardedFor,
  );
}
