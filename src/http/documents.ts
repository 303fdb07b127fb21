/** Answers that are the same for everyone, prepared once: bytes, ETag, compressed forms. */
import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { systemClock } from '../clock.ts';

type Encoding = 'br' | 'gzip' | 'identity';

type Representation = { body: Buffer; headers: Record<string, string> };

export type Document = Record<Encoding, Representation>;

const COMPRESSION_MINIMUM_BYTES = 1_000;
/** Milliseconds: the first answers of a start come first, and then nobody waits long for one document. */
const COMPRESS_AFTER_MS = 500;
const COMPRESS_EVERY_MS = 10;
/** It is compressed as it is. */
const PNG = 'image/png';

/**
 * Takes a text or bytes, its media type and headers of its own; returns it ready to be sent, each encoding
 * with an ETag of its own (RFC 9110 §8.8.3).
 */
export function prepareDocument(
  content: string | Buffer,
  contentType: string,
  headers: Record<string, string> = {},
): Document {
  const body = typeof content === 'string' ? Buffer.from(content) : content;
  const digest = createHash('sha256')
    .update(contentType)
    .update(body)
    .digest('base64url')
    .slice(0, 22);
  const plain = represent(body, `"${digest}"`, { 'content-type': contentType, ...headers });
  const isSmall = body.length < COMPRESSION_MINIMUM_BYTES;
  if (isSmall || contentType === PNG) return { identity: plain, gzip: plain, br: plain };
  const compressed = (encoding: 'br' | 'gzip', bytes: Buffer) =>
    represent(bytes, `"${digest}-${encoding}"`, {
      'content-type': contentType,
      'content-encoding': encoding,
      ...headers,
    });
  let gzip: Representation | undefined;
  let br: Representation | undefined;
  const document: Document = {
    identity: plain,
    get gzip() {
      gzip ??= compressed('gzip', gzipSync(body, { level: 9 }));
      return gzip;
    },
    get br() {
      br ??= compressed('br', brotliCompressSync(body, { params: brotliParams(body.length) }));
      return br;
    },
  };
  compressSoon(document);
  return document;
}

/** A window no larger than the body costs a seventh of the default one, and no byte. */
function brotliParams(length: number): Record<number, number> {
  const window = Math.ceil(Math.log2(length + 16));
  return {
    [constants.BROTLI_PARAM_QUALITY]: 9,
    [constants.BROTLI_PARAM_LGWIN]: Math.min(Math.max(window, 10), 22),
  };
}

const uncompressed: Document[] = [];

/** Once the start is over, one after another; whoever asks for one before then has it made. */
function compressSoon(document: Document): void {
  uncompressed.push(document);
  if (uncompressed.length === 1) systemClock.after(COMPRESS_AFTER_MS, compressNext);
}

function compressNext(): void {
  const document = uncompressed.shift();
  void [document?.gzip, document?.br];
  if (uncompressed.length > 0) systemClock.after(COMPRESS_EVERY_MS, compressNext);
}

function represent(body: Buffer, etag: string, headers: Record<string, string>): Representation {
  return {
    body,
    headers: {
      'cache-control': 'public, max-age=300',
      vary: 'Accept-Encoding',
      ...headers,
      etag,
    },
  };
}

/** Sends a prepared document: 304 to a matching `If-None-Match`, else 200 in the encoding asked for. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: Document,
): FastifyReply {
  const { body, headers } = document[encodingFor(request.headers['accept-encoding'])];
  reply.headers(headers);
  if (matches(request.headers['if-none-match'], headers.etag ?? '')) return reply.code(304).send();
  return reply.code(200).send(body);
}

function encodingFor(accepted: string | undefined): Encoding {
  if (accepted === undefined || /;\s*q=0(\.0*)?\s*(,|$)/.test(accepted)) return 'identity';
  if (/\bbr\b/.test(accepted)) return 'br';
  return /\bgzip\b/.test(accepted) ? 'gzip' : 'identity';
}

function matches(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  return condition
    .split(',')
    .some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}
