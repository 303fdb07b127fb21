/**
 * Looks up the name of another server: each name once at a time, and whoever wants it meanwhile waits for that.
 * Node.js looks two names up at once, and for one that nobody answers for it waits ten seconds or more, also after the
 * connection that wanted it was given up: a few leads to such an upstream, or a Redis that is connected to again and
 * again, would keep the database from being found. Two such names at once still do.
 */
import { type LookupOptions, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Told = Parameters<LookupFunction>[2];

/** Returns a look-up for the connections to one server; `look` is the system's own. */
export function sharedLookup(look: LookupFunction = lookup): LookupFunction {
  const waiting = new Map<string, Told[]>();
  return (hostname: string, options: LookupOptions, tell: Told) => {
    const name = JSON.stringify([hostname, options]);
    const others = waiting.get(name);
    if (others !== undefined) {
      others.push(tell);
      return;
    }
    const all = [tell];
    waiting.set(name, all);
    try {
      look(hostname, options, (...told) => {
        waiting.delete(name);
        for (const each of all) each(...told);
      });
    } catch (error) {
      // Of options that are none: nobody may wait for it.
      waiting.delete(name);
      throw error;
    }
  };
}
