/** A request's body: read at its turn, within a bound, and decoded strictly (contract §4). */
import { isUtf8 } from 'node:buffer';
import type { IncomingMessage } from 'node:http';
import { MIMEType } from 'node:util';
import type { BodyRefusal } from '../failures/refusals.ts';
import { headerLines } from './headers.ts';

/** One parameter of a content type, quoted or not. */
const PARAMETER = /;\s*([^=;\s]+)\s*=\s*("(?:[^"\\]|\\.)*"|[^\s;"][^;]*|)/g;

export type ReadBody = { kind: 'read'; bytes: Buffer } | BodyRefusal;

/** The media type in a `Content-Type` (undefined where there is none that can be read). */
export function mediaType(header: string | undefined): MIMEType | undefined {
  if (header === undefined) return undefined;
  try {
    return new MIMEType(header);
  } catch {
    return undefined;
  }
}

/**
 * Takes a request whose body nobody has read and the bound in bytes; returns the bytes, or why they
 * can't be taken. What is over the bound is not kept, and Node discards it.
 */
export async function readBody(request: IncomingMessage, maximum: number): Promise<ReadBody> {
  if (request.headers['content-encoding'] !== undefined) return { kind: 'contentEncoding' };
  if (declaresOtherCharset(headerLines(request, 'content-type').join(';'))) {
    return { kind: 'charset' };
  }
  if (Number(request.headers['content-length'] ?? 0) > maximum) return { kind: 'bodyTooLarge' };
  return await collect(request, maximum);
}

/** Takes content types of whatever shape, joined by `;`; returns whether one has a charset besides UTF-8. */
export function declaresOtherCharset(types: string): boolean {
  if (!types.includes(';')) return false;
  return [...types.matchAll(PARAMETER)]
    .filter(([, name = '', value]) => name.toLowerCase() === 'charset' && value !== '')
    .map(([, , value = '']) => (value.startsWith('"') ? unquote(value) : value))
    .some((charset) => !/^utf-?8$/i.test(charset.trim()));
}

function unquote(quoted: string): string {
  return quoted.slice(1, -1).replace(/\\(.)/gs, '$1');
}

function collect(request: IncomingMessage, maximum: number): Promise<ReadBody> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    // One that announces no body has ended before anybody reads it (`optimizeEmptyRequests`).
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

/** Takes bytes; returns their text without a leading BOM, or undefined where they are not UTF-8. */
export function decodeUtf8(bytes: Buffer): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString('utf8');
  return text.charCodeAt(0) === 0xfeff ? text.slice(1) : text;
}

/** Takes the bytes of a body; returns the JSON object in them. Of a repeated name the last counts. */
export function parseJsonObject(
  bytes: Buffer,
): { kind: 'object'; value: Record<string, unknown> } | { kind: 'invalidUtf8' | 'invalidJson' } {
  const text = decodeUtf8(bytes);
  if (text === undefined) return { kind: 'invalidUtf8' };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      return { kind: 'invalidJson' };
    }
    return { kind: 'object', value: value as Record<string, unknown> };
  } catch {
    return { kind: 'invalidJson' };
  }
}
