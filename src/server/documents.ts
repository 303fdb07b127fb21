/** Documents that are the same for everyone: bytes, ETag, compressed forms. A page also has a mirror in Markdown. */
import { hash } from 'node:crypto';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { prefersMarkdown } from '../http/negotiation.ts';
import { ownReferer } from '../http/request.ts';
import { once } from '../platform/lazy.ts';
import { type at, methodsOf, type PagePaths, pages, routes } from '../routes.ts';

type Encoding = 'br' | 'gzip' | 'identity';

type Representation = { body: Buffer; headers: Record<string, string> };

/** A document in each encoding. An encoding is made at the first request for it. */
export type Document = Readonly<Record<Encoding, Representation>>;

const COMPRESSION_MINIMUM_BYTES = 1_000;

/** Returns a document. Each encoding has its own ETag (RFC 9110 §8.8.3). The first use makes the content. */
export function prepareDocument(
  make: () => string | Buffer,
  contentType: string,
  headers: Record<string, string> = {},
): Document {
  const represent = (body: Buffer, etag: string, encoding = {}): Representation => ({
    body,
    headers: {
      'cache-control': 'public, max-age=300',
      vary: 'Accept-Encoding',
      'content-type': contentType,
      ...headers,
      ...encoding,
      etag: `"${etag}"`,
    },
  });
  const content = once(() => {
    const body = Buffer.from(make());
    const digest = hash('sha256', Buffer.concat([Buffer.from(contentType), body]), 'base64url');
    const tag = digest.slice(0, 22);
    return { body, tag, plain: represent(body, tag) };
  });
  const compressed = (encoding: 'br' | 'gzip', compress: (body: Buffer) => Buffer) =>
    once(() => {
      const { body, tag, plain } = content();
      // A PNG is compressed already.
      if (body.length < COMPRESSION_MINIMUM_BYTES || contentType === 'image/png') return plain;
      return represent(compress(body), `${tag}-${encoding}`, { 'content-encoding': encoding });
    });
  const gzip = compressed('gzip', (body) => gzipSync(body, { level: 9 }));
  // A larger window takes ten times as long and makes none of our documents smaller.
  const params = { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_LGWIN]: 16 };
  const br = compressed('br', (body) => brotliCompressSync(body, { params }));
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

type Route = ReturnType<typeof at>;

/** Adds a route that answers with this document. */
export function serve(app: FastifyInstance, route: Route, document: Document) {
  app.route({ ...route, handler: (request, reply) => sendDocument(request, reply, document) });
}

/**
 * Adds a route whose first request makes the document, or the function that chooses one for each request. The next
 * request repeats a failed attempt.
 */
export function serveLazily(
  app: FastifyInstance,
  route: Route,
  make: () => Promise<Document | ((request: FastifyRequest) => Document)>,
) {
  let ready: Awaited<ReturnType<typeof make>> | undefined;
  const first = once(async () => {
    ready = await make();
    return ready;
  });
  app.route({
    ...route,
    handler: (request, reply) => {
      const send = (made: Awaited<ReturnType<typeof make>>) =>
        sendDocument(request, reply, typeof made === 'function' ? made(request) : made);
      return ready === undefined ? first().then(send) : send(ready);
    },
  });
}

/** Sends a prepared document: 304 to a matching `If-None-Match`, else 200 in an accepted encoding. */
export function sendDocument(request: FastifyRequest, reply: FastifyReply, document: Document): FastifyReply {
  const { body, headers } = document[encodingFor(request.headers['accept-encoding'])];
  reply.headers(headers);
  if (matches(request.headers['if-none-match'], headers.etag ?? '')) {
    // For a HEAD request Fastify sends the length of the body, as a 200 would (RFC 9110 §8.6).
    return reply.code(304).send(request.method === 'HEAD' ? body : undefined);
  }
  return reply.code(200).send(body);
}

function encodingFor(accepted = ''): Encoding {
  if (/;\s*q=0(\.0*)?\s*(,|$)/.test(accepted)) return 'identity';
  if (/\bbr\b/.test(accepted)) return 'br';
  return /\bgzip\b/.test(accepted) ? 'gzip' : 'identity';
}

function matches(condition: string | undefined, etag: string): boolean {
  if (condition === undefined) return false;
  return condition.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag);
}

type ServedPage = {
  noindex: boolean;
  readonly markdown: string;
  readonly html: string;
  /** Variants of the page by the path of the referring page. */
  variantsByReferer?: ReadonlyMap<string, { readonly html: string }> | undefined;
};

/** Adds a page and its mirror in Markdown (reference §15.3). The first request makes both. */
export function registerPage(app: FastifyInstance, paths: PagePaths, read: () => Promise<ServedPage>): void {
  const documents = once(async () => preparePage(paths, await read()));
  serveLazily(app, { method: methodsOf(routes.page), url: paths.path }, async () => {
    const { html, others, negotiated } = await documents();
    return ({ headers, hostname }) => {
      if (prefersMarkdown(headers.accept)) return negotiated;
      const from = others && ownReferer(headers.referer, hostname);
      return others?.get(from ?? '') ?? html;
    };
  });
  const mirror = { method: methodsOf(routes.mirror), url: paths.markdownPath };
  serveLazily(app, mirror, async () => (await documents()).mirror);
}

const DESCRIBED_BY = `<${routes.getLlmsText.path}>; rel="describedby"; type="text/plain"`;

/** Links from the first page, so that one request finds everything (reference §14.11). */
const FROM_THE_START = [
  `<${routes.apiCatalog.path}>; rel="api-catalog"`,
  `<${routes.ardManifest.path}>; rel="ard"; type="application/json"`,
  `<${routes.getAgentsDocument.path}>; rel="service-desc"; type="application/json"`,
  `<${routes.getOpenapiDocument.path}>; rel="service-desc"; type="application/json"`,
  `<${pages.agents.path}>; rel="service-doc"; type="text/html"`,
];

/** Headers of the thank-you page. A shared cache would show the text of another form. */
const BY_WHERE_FROM = { vary: 'Accept, Accept-Encoding, Referer', 'cache-control': 'private, no-cache' };

/** Makes the page, the mirror at its own address, and the mirror at the page's address (RFC 9110 §12.1). */
function preparePage({ path, markdownPath }: PagePaths, page: ServedPage) {
  const { variantsByReferer } = page;
  const further = path === routes.startPage.path ? FROM_THE_START : [];
  const robots = page.noindex ? { 'x-robots-tag': 'noindex' } : {};
  const mirrored = {
    // Any page may read a mirror (reference §3.11).
    'access-control-allow-origin': '*',
    ...robots,
    link: `<${path}>; rel="canonical", ${DESCRIBED_BY}`,
  };
  const negotiated = variantsByReferer === undefined ? { vary: 'Accept, Accept-Encoding' } : BY_WHERE_FROM;
  const asHtml = (of: { readonly html: string }) =>
    prepareDocument(() => of.html, 'text/html; charset=utf-8', {
      ...negotiated,
      ...robots,
      link: [`<${markdownPath}>; rel="alternate"; type="text/markdown"`, DESCRIBED_BY, ...further].join(', '),
    });
  const asMarkdown = (headers: Record<string, string>) =>
    prepareDocument(() => page.markdown, 'text/markdown; charset=utf-8', headers);
  return {
    html: asHtml(page),
    others: variantsByReferer && new Map([...variantsByReferer].map(([from, other]) => [from, asHtml(other)])),
    negotiated: asMarkdown({ ...negotiated, ...mirrored, 'content-location': markdownPath }),
    mirror: asMarkdown(mirrored),
  };
}
