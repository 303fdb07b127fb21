/** What every answer has, added where its head is written; a small one leaves with its head in one write. */
import type { IncomingMessage, OutgoingHttpHeaders, ServerResponse } from 'node:http';
import { ServerResponse as Plain } from './node-http.ts';

/** Text joins its head in Node, bytes are a second buffer: up to so many the copy costs less than that. */
const JOINED_BYTES = 16_384;

/**
 * Takes headers, named in lower case; returns the class of responses that have them, where an answer has no
 * such header of its own. Given to each reply one by one they cost a twentieth of a page.
 */
export function responseWith(same: Record<string, string>): typeof ServerResponse {
  return class<Request extends IncomingMessage> extends Plain<Request> {
    // `writeHead` may also be given a status message before the headers: neither Fastify nor Node does that.
    override writeHead(status: number, headers?: unknown): this {
      return super.writeHead(status, { ...same, ...(headers as OutgoingHttpHeaders) });
    }

    override end(...all: unknown[]): this {
      const [body] = all;
      // Each character of latin1 is one byte: what arrives is the same.
      return Buffer.isBuffer(body) && body.length <= JOINED_BYTES
        ? super.end(body.toString('latin1'), 'latin1')
        : super.end(...(all as [unknown, BufferEncoding]));
    }
  };
}
