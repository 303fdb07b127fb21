/** A limit by client address as plainly as it can be kept: fixed windows in a map. */
import type { IncomingMessage } from 'node:http';
import { hasDuties } from './duties.ts';

export type Limit = { name: string; most: number; windowSeconds: number };

/** Counts a request; returns the headers that tell its client, or undefined where it is one too many. */
type TakeFromLimit = (request: IncomingMessage) => Record<string, string> | undefined;

/** A bare server without duties counts nothing. */
export function openLimit({ name, most, windowSeconds }: Limit): TakeFromLimit {
  const windows = new Map<string, { count: number; endsAt: number }>();
  const nothing = {};
  if (!hasDuties) return () => nothing;

  function countOf(request: IncomingMessage): number {
    const forwarded = String(request.headers['x-forwarded-for']);
    const address = forwarded.slice(forwarded.lastIndexOf(',') + 1).trim();
    const now = Date.now();
    const standing = windows.get(address);
    if (standing !== undefined && standing.endsAt > now) {
      standing.count += 1;
      return standing.count;
    }
    windows.set(address, { count: 1, endsAt: now + windowSeconds * 1000 });
    return 1;
  }

  return (request) => {
    const left = most - countOf(request);
    if (left < 0) return undefined;
    return { ratelimit: `"${name}";r=${left};t=${windowSeconds}` };
  };
}
