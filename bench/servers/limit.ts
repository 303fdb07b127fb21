/** A limit by client address as plainly as it can be kept: fixed windows in a map. */
import type { IncomingMessage } from 'node:http';

/** Takes the window's length; returns what counts a request and says how many its address has made. */
export function openLimit(windowMs: number): (request: IncomingMessage) => number {
  const windows = new Map<string, { count: number; endsAt: number }>();
  return (request) => {
    const forwarded = String(request.headers['x-forwarded-for']);
    const address = forwarded.slice(forwarded.lastIndexOf(',') + 1).trim();
    const now = Date.now();
    const standing = windows.get(address);
    if (standing !== undefined && standing.endsAt > now) {
      standing.count += 1;
      return standing.count;
    }
    windows.set(address, { count: 1, endsAt: now + windowMs });
    return 1;
  };
}
