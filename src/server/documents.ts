/** Answers that are the same for everyone, made once: bytes, ETag, compressed forms. */
import { hash } from 'node:crypto';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { once, require } from '../once.ts';
import type { at } from '../routes.ts';

type Encoding = 'br' | 'gzip' | 'identity';

type Representation = { body: Buffer; headers: Record<string, string> };

/** Each encoding is made when it is first asked for. */
export type Document = Readonly<Record<Encoding, Representation>>;

const COMPRESSION_MINIMUM_BYTES = 1_000;
/** Loaded for who first asks for something compressed. */
const zlib = once((): typeof import('node:zlib') => require('node:zlib'));
/** It is compressed as it is. */
const PNG = 'image/png';

/**
 * Takes what makes a text or bytes, its media type and headers of its own; returns what is sent of it, each
 * encoding with an ETag of its own (RFC 9110 §8.8.3). Made once, for who first asks: an error in it is theirs.
 */
export function prepareDocument(
  make: () => string | Buffer,
  contentType: string,
  headers: Record<string, string> = {},
): Document {
  const own = { 'content-type': contentType, ...headers };
  const content = once(() => {
    const made = make();
    const body = typeof made === 'string' ? Buffer.from(made) : made;
    const digest = hash('sha256', Buffer.concat([Buffer.from(contentType), body]), 'base64url');
    const tag = digest.slice(0, 22);
    return { body, tag, plain: represent(body, `"${tag}"`, own) };
  });
  const compressed = (encoding: 'br' | 'gzip', compress: (body: Buffer) => Buffer) =>
    once(() => {
      const { body, tag, plain } = content();
      if (body.length < COMPRESSION_MINIMUM_BYTES || contentType === PNG) return plain;
      const headers = { ...own, 'content-encoding': encoding };
      return represent(compress(body), `"${tag}-${encoding}"`, headers);
    });
  const gzip = compressed('gzip', (body) => zlib().gzipSync(body, { level: 9 }));
  const br = compressed('br', brotli);
  return {
    get identity() {
      return content().plain;
    },
    get gzip() {
      return gzip();
    },
    get br() {
      return br();
    },
  };
}

function brotli(body: Buffer): Buffer {
  const { brotliCompressSync, constants } = zlib();
  // With a larger window it takes ten times as long, for no byte less of a document of ours.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 16 };
  return brotliCompressSync(body, { params });
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

/** Adds a route that answers with this document. */
export function serve(app: FastifyInstance, route: ReturnType<typeof at>, document: Document) {
  app.route({ ...route, handler: (request, reply) => sendDocument(request, reply, document) });
}

/** Sends a prepared document: 304 to a matching `If-None-Match`, else 200 in the encoding asked for. */
export function sendDocument(
  request: FastifyRequest,
  reply: FastifyReply,
  document: Document,
): FastifyReply {
  const { body, headers } = document[encodingFor(request.headers['accept-encoding'])];
  reply.headers(headers);
  if (matches(request.headers['if-none-match'], headers.etag ?? '')) {
    // For a HEAD Fastify tells the length of what it is given: that of the 200 (RFC 9110 §8.6).
    return reply.code(304).send(request.method === 'HEAD' ? body : undefined);
  }
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
