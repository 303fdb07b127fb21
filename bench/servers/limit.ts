/** A plain rate limit by client address: fixed windows in a map. */
import type { IncomingMessage } from 'node:http';
import { hasDuties } from './duties.ts';

export type Limit = { name: string; most: number; windowSeconds: number };

/** Counts a request. Returns the rate headers, or undefined if the limit is exceeded. */
type TakeFromLimit = (request: IncomingMessage) => Record<string, string> | undefined;

/** Opens a limit. With `DUTIES=none`, the limit counts nothing. */
export function openLimit({ name, most, windowSeconds }: Limit): TakeFromLimit {
  const windows = new Map<string, { count: number; endsAt: number }>();
  const nothing = {};
  if (!hasDuties) return () => nothing;

  function countOf(request: IncomingMessage): number {
    const forwarded = String(request.headers['x-forwarded-for']);
    const address = forwarded.slice(forwarded.lastIndexOf(',') + 1).trim();
    const now = Date.now();
    const current = windows.get(address);
    if (current !== undefined && current.endsAt > now) {
      current.count += 1;
      return current.count;
    }
    windows.set(address, { count: 1, endsAt: now + windowSeconds * 1000 });
    return 1;
  }

  return (request) => {
    const remaining = most - countOf(request);
    if (remaining < 0) return undefined;
    return { ratelimit: `"${name}";r=${remaining};t=${windowSeconds}` };
  };
}
