/** Headers that every answer has, added where its head is written. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';

// An import from `node:http` would load all of Node's `fetch` with it: 3 % of a cold start.
const { ServerResponse: Plain } = process.getBuiltinModule('node:http');

/**
 * Takes headers, named in lower case; returns the class of responses that have them, where an answer has no
 * such header of its own. Given to each reply one by one they cost a twentieth of a page.
 */
export function responseWith(same: Record<string, string>): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends Plain<Request> {
    // Neither Fastify nor Node itself names a reason before the headers.
    override writeHead(status: number, headers?: unknown): this {
      return super.writeHead(status, { ...same, ...(headers as OutgoingHttpHeaders) });
    }
  };
}
