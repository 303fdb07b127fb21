/** What is read from and said in headers on every route. */
import type { IncomingMessage } from 'node:http';
import { randomSecret } from '../chance.ts';

/** Every line of a header, named in lower case, as it came: Node itself joins or drops repeated ones. */
export function headerLines({ rawHeaders }: IncomingMessage, name: string): string[] {
  const lines: string[] = [];
  // Names and values take turns.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const written = rawHeaders[at];
    if (written?.length !== name.length || written.toLowerCase() !== name) continue;
    lines.push(rawHeaders[at + 1] ?? '');
  }
  return lines;
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
