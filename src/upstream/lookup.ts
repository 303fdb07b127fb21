/**
 * Looks up the upstream's name: each name once at a time, and whoever wants it meanwhile waits for that. Node.js looks
 * two names up at once, and one whose server is silent takes it ten seconds or more, also after its connection was given up:
 * a few leads to such an upstream would keep the database from being found.
 */
import { type LookupOptions, lookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Told = Parameters<LookupFunction>[2];

/** Returns a look-up for one upstream's connections; `look` is the system's own. */
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
    look(hostname, options, (...told) => {
      waiting.delete(name);
      for (const each of all) each(...told);
    });
  };
}
