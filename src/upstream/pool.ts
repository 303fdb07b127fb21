/** The pool of connections to the upstream. The first delivery loads this module, and undici with it. */
import type { Socket } from 'node:net';
import { buildConnector, Pool } from 'undici';
import { sharedLookup } from '../platform/dns-lookup.ts';
import { withoutContinue } from './interim.ts';

/** Maximum number of parallel sends. Further sends wait for a connection until their time limit. */
const CONNECTIONS = 128;

/**
 * HTTP/1.1 has one request at a time on a connection and never repeats a request. Over HTTP/2 undici automatically
 * repeats a request that the receiver refuses to process, and so bypasses the fence (reference §10.4 rule 3).
 */
const ALLOW_H2 = false;

/** Returns the pool, whose connections hide `100 Continue` from undici. `timeoutMs` limits connecting. */
export function openPool(origin: string, timeoutMs: number): Pool {
  const connect = buildConnector({ timeout: timeoutMs, allowH2: ALLOW_H2, lookup: sharedLookup() });
  return new Pool(origin, {
    connections: CONNECTIONS,
    allowH2: ALLOW_H2,
    connect: (options, callback) =>
      connect(options, (...[error, socket]) => {
        if (error !== null) callback(error, null);
        // Undici's type is a socket, but over HTTP/1.1 undici only needs a duplex stream.
        else callback(null, withoutContinue(socket) as Socket);
      }),
  });
}
