/** Headers of the operator that are added to each forward (reference §20.4, `UPSTREAM_HEADERS`). */
import * as v from '@badrap/valita';

type Header = readonly [name: string, value: string];

/** A field name and a field value of RFC 9110 §5, without the bytes over 0x7E, whose meaning receivers guess. */
const LINE = /^(?<name>[!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*(?<value>[!-~](?:[\t -~]*[!-~])?)[ \t]*$/;

/** Headers that the service or its HTTP client sets, and headers of one connection (RFC 9110 §7.6.1). */
const RESERVED: ReadonlySet<string> = new Set([
  'content-type',
  'content-length',
  'host',
  'user-agent',
  'webhook-id',
  'webhook-timestamp',
  'webhook-signature',
  'idempotency-key',
  'traceparent',
  'connection',
  'keep-alive',
  'proxy-connection',
  'proxy-authenticate',
  'proxy-authorization',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'expect',
]);

/** Parses one header a line. A fault has the number of its line and no text of it, because a value may be a secret. */
export const upstreamHeaders = v.string().chain((text) => {
  const headers: Header[] = [];
  const lineOf = new Map<string, number>();
  for (const [index, written] of text.split(/\r?\n/).entries()) {
    if (/^[ \t]*$/.test(written)) continue;
    const line = index + 1;
    const parts = LINE.exec(written)?.groups as { name: string; value: string } | undefined;
    if (parts === undefined) {
      return v.err(`must have Name: value in line ${line}, in visible ASCII characters`);
    }
    const key = parts.name.toLowerCase();
    if (RESERVED.has(key)) {
      return v.err(`must not set the header of line ${line}, which belongs to the service or its connection`);
    }
    const earlier = lineOf.get(key);
    if (earlier !== undefined) return v.err(`must not repeat the name of line ${earlier} in line ${line}`);
    lineOf.set(key, line);
    headers.push([parts.name, parts.value]);
  }
  return v.ok<readonly Header[]>(headers);
});
