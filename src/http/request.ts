/** Reads requests: header lines, and bodies within a limit, decoded strictly (reference §3.2). */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import type { BodyRefusal } from '../failures/refusals.ts';
import { bounds } from '../forms/bounds.ts';
import { randomSecret } from '../platform/random.ts';

/** A parameter of a content type, quoted or not. A value whose closing quote is missing ends at the next semicolon. */
const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^;]*)/g;

export type ReadBody = { kind: 'read'; bytes: Buffer } | BodyRefusal;

/** Returns the media type of a `Content-Type`, or undefined if it is missing or malformed. */
export function mediaType(header: string | undefined): MIMEType | undefined {
  try {
    return new MIMEType(header ?? '');
  } catch {
    return undefined;
  }
}

/**
 * Returns the bytes of an unread body, or the reason for its refusal. `maximum` is in bytes. Node discards the bytes
 * over the maximum.
 */
export async function readBody(request: IncomingMessage, maximum: number): Promise<ReadBody> {
  if (request.headers['content-encoding'] !== undefined) return { kind: 'contentEncoding' };
  if (declaresOtherCharset(headerLines(request, 'content-type').join(';'))) return { kind: 'charset' };
  if (Number(request.headers['content-length'] ?? 0) > maximum) return { kind: 'bodyTooLarge' };
  return await collect(request, maximum);
}

/** Returns true if a charset other than UTF-8 is in the content types, which are joined by `;` and may be malformed. */
export function declaresOtherCharset(types: string): boolean {
  if (!types.includes(';')) return false;
  return [...types.matchAll(PARAMETER)]
    .filter(([, name = '', value]) => name.toLowerCase() === 'charset' && value !== '')
    .map(([, , value = '']) =>
      value.startsWith('"') ? value.slice(1).replace(/"$/, '').replace(/\\(.)/gs, '$1') : value,
    )
    .some((charset) => !/^utf-?8$/i.test(charset.trim()));
}

function collect(request: IncomingMessage, maximum: number): Promise<ReadBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    // A request that announces no body has ended already (`optimizeEmptyRequests`).
    if (request.readableEnded) resolve({ kind: 'read', bytes: join(chunks) });
    let length = 0;
    request.on('data', (chunk: Buffer) => {
      length += chunk.length;
      if (length <= maximum) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve({ kind: 'bodyTooLarge' });
      }
    });
    request.on('end', () => resolve({ kind: 'read', bytes: join(chunks) }));
    request.on('error', () => resolve({ kind: 'bodyAborted' }));
    request.on('close', () => resolve({ kind: 'bodyAborted' }));
  });
}

function join(chunks: Buffer[]): Buffer {
  const [only] = chunks;
  return chunks.length === 1 && only !== undefined ? only : Buffer.concat(chunks);
}

/** Returns the text of bytes without a leading BOM, or undefined if the bytes are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

type JsonRefusal = { kind: 'invalidUtf8' | 'invalidJson' | 'jsonTooDeep' };

/** Returns the JSON object in the bytes of a body. If a name is repeated, its last value counts. */
export function parseJsonObject(bytes: Buffer): { kind: 'object'; value: Record<string, unknown> } | JsonRefusal {
  const json = parseJson(bytes);
  if (json.kind !== 'value') return json;
  return isObject(json.value) ? { kind: 'object', value: json.value } : { kind: 'invalidJson' };
}

/** Returns true for an object of JSON that is not an array. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/**
 * Returns the JSON value in the bytes of a body. Only this function parses a caller's JSON, so no deep value reaches
 * code that recurses (reference §3.2).
 */
export function parseJson(bytes: Buffer): { kind: 'value'; value: unknown } | JsonRefusal {
  const text = decodeUtf8(bytes);
  if (text === undefined) return { kind: 'invalidUtf8' };
  if (isTooDeep(bytes)) return { kind: 'jsonTooDeep' };
  try {
    return { kind: 'value', value: JSON.parse(text) };
  } catch {
    return { kind: 'invalidJson' };
  }
}

const [QUOTE, BACKSLASH] = [0x22, 0x5c];
const [OPENING_BRACKET, CLOSING_BRACKET] = [0x5b, 0x5d];
const [OPENING_BRACE, CLOSING_BRACE] = [0x7b, 0x7d];

/** Returns true if brackets outside of strings nest too deep. No byte of a longer UTF-8 character equals a bracket. */
function isTooDeep(bytes: Buffer): boolean {
  let depth = 0;
  for (let at = 0; at < bytes.length; at += 1) {
    const byte = bytes[at];
    if (byte === QUOTE) {
      for (at += 1; at < bytes.length && bytes[at] !== QUOTE; at += 1) {
        if (bytes[at] === BACKSLASH) at += 1;
      }
    } else if (byte === OPENING_BRACE || byte === OPENING_BRACKET) {
      depth += 1;
      if (depth > bounds.jsonDepth) return true;
    } else if (byte === CLOSING_BRACE || byte === CLOSING_BRACKET) depth -= 1;
  }
  return false;
}

/** Returns every line of a header. `name` is in lower case. Node itself joins or drops repeated lines. */
export function headerLines({ rawHeaders }: IncomingMessage, name: string): string[] {
  const lines: string[] = [];
  // Names and values alternate.
  for (let at = 0; at < rawHeaders.length; at += 2) {
    const written = rawHeaders[at];
    if (written?.length !== name.length || written.toLowerCase() !== name) continue;
    lines.push(rawHeaders[at + 1] ?? '');
  }
  return lines;
}

const TRACEPARENT = /^00-(?<traceId>(?!0{32})[0-9a-f]{32})-(?!0{16})[0-9a-f]{16}-(?<flags>[0-9a-f]{2})$/;

export type Trace = { traceId: string; flags: string };

/** Returns the trace of a `traceparent` (W3C Trace Context), or undefined if the header is malformed. */
export function parseTraceparent(header: string | string[] | undefined): Trace | undefined {
  return TRACEPARENT.exec(typeof header === 'string' ? header : '')?.groups as Trace | undefined;
}

/** Returns the `traceparent` for a call that this request makes: the same trace, a new span. */
export function childTraceparent(trace: Trace | undefined): string | undefined {
  if (trace === undefined) return undefined;
  return `00-${trace.traceId}-${randomSecret(8).toString('hex')}-${trace.flags}`;
}

/** Returns the path of a `Referer` that names this host, without its query, or undefined for any other host. */
export function ownReferer(referer: string | undefined, hostname: string): string | undefined {
  const from = URL.parse(referer ?? '');
  return from?.hostname === hostname ? from.pathname : undefined;
}
