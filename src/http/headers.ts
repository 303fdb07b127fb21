/** What is read from and said in headers on every route. */
import type { IncomingMessage } from 'node:http';
import { randomSecret } from '../chance.ts';

/** Every line of a header as it came: Node itself joins or drops repeated ones. */
export function headerLines(request: IncomingMessage, name: string): string[] {
  return request.headersDistinct[name] ?? [];
}

/** The content type as it came; `headers` no longer has it once a route was found. */
export function contentType(request: IncomingMessage): string | undefined {
  return headerLines(request, 'content-type')[0];
}

const TRACEPARENT = /^00-((?!0{32})[0-9a-f]{32})-((?!0{16})[0-9a-f]{16})-([0-9a-f]{2})$/;

export type Trace = { traceId: string; flags: string };

/** Takes a `traceparent` (W3C Trace Context); returns its trace, or undefined where it is none. */
export function parseTraceparent(header: string | string[] | undefined): Trace | undefined {
  const [, traceId, , flags] = TRACEPARENT.exec(typeof header === 'string' ? header : '') ?? [];
  return traceId === undefined || flags === undefined ? undefined : { traceId, flags };
}

/** The `traceparent` of a call that this request makes: the same trace, a span of its own. */
export function childTraceparent(trace: Trace | undefined): string | undefined {
  if (trace === undefined) return undefined;
  return `00-${trace.traceId}-${randomSecret(8).toString('hex')}-${trace.flags}`;
}
