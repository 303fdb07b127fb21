import { type LookupOptions, lookup as systemLookup } from 'node:dns';
import type { LookupFunction } from 'node:net';

type Callback = Parameters<LookupFunction>[2];

/**
 * Returns a lookup function for the connections to one server. A call for a name that is being resolved waits for the
 * same result. Node.js resolves two names at a time and waits ten seconds or more for a name without an answer, even if
 * the connection is closed. Without sharing, a few leads to such an upstream would block the lookup of the database's
 * name. Two unanswered names still block it.
 */
export function sharedLookup(lookup: LookupFunction = systemLookup): LookupFunction {
  const waiting = new Map<string, Callback[]>();
  return (hostname: string, options: LookupOptions, callback: Callback) => {
    const name = JSON.stringify([hostname, options]);
    const others = waiting.get(name);
    if (others !== undefined) {
      others.push(callback);
      return;
    }
    const all = [callback];
    waiting.set(name, all);
    try {
      lookup(hostname, options, (...result) => {
        waiting.delete(name);
        for (const each of all) each(...result);
      });
    } catch (error) {
      // `lookup` throws on invalid options. No later call may wait for the call that threw.
      waiting.delete(name);
      throw error;
    }
  };
}
