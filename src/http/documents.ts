/** Answers that are the same for everyone, prepared once at start-up: bytes, ETag, compressed forms. */
import { createHash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyReply, FastifyRequest } from 'fastify';

type Encoding = 'br' | 'gzip' | 'identity';

type Representation = { body: Buffer; headers: Record<string, string> };

export type Document = Record<Encoding, Representation>;

const COMPRESSION_MINIMUM_BYTES = 1_000;

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
  if (body.length < COMPRESSION_MINIMUM_BYTES) return { identity: plain, gzip: plain, br: plain };
  const compressed = (encoding: 'br' | 'gzip', bytes: Buffer) =>
    represent(bytes, `"${digest}-${encoding}"`, {
      'content-type': contentType,
      'content-encoding': encoding,
      ...headers,
    });
  const quality = { params: { [constants.BROTLI_PARAM_QUALITY]: 9 } };
  return {
    identity: plain,
    gzip: compressed('gzip', gzipSync(body, { level: 9 })),
    br: compressed('br', brotliCompressSync(body, quality)),
  };
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
