/** A page and its mirror in Markdown on the wire: what each is sent with, and which of the two (contract §4). */
import type { FastifyInstance } from 'fastify';
import { prefersMarkdown } from '../http/negotiation.ts';
import { ownReferer } from '../http/referer.ts';
import { once } from '../once.ts';
import { methodsOf, type PagePaths, pages, routes } from '../routes.ts';
import { prepareDocument, sendDocument } from './documents.ts';

/** Any page may read a mirror (contract §4, "Discovery"). */
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };

const MARKDOWN = 'text/markdown; charset=utf-8';
const DESCRIBED_BY = `<${routes.getLlmsText.path}>; rel="describedby"; type="text/plain"`;

export type ServedPage = {
  noindex: boolean;
  markdown: string;
  html: string;
};

/** By the path that somebody came from: what they see in place of the page. */
export type ByWhereFrom = ReadonlyMap<string, { readonly html: string }>;

/** Adds a page and its mirror, which are read when they are first asked for, after `preHandler`. */
export function registerPage(
  app: FastifyInstance,
  paths: PagePaths,
  read: () => ServedPage,
  {
    byWhereFrom,
    ...hooks
  }: { preHandler?: () => Promise<void>; byWhereFrom?: () => ByWhereFrom } = {},
): void {
  const documents = once(() => preparePage(paths, read(), byWhereFrom?.()));
  app.route({
    ...hooks,
    method: methodsOf(routes.page),
    url: paths.path,
    handler: (request, reply) => {
      const { html, others, negotiated } = documents();
      if (prefersMarkdown(request.headers.accept)) return sendDocument(request, reply, negotiated);
      const from = others && ownReferer(request.headers.referer, request.hostname);
      return sendDocument(request, reply, others?.get(from ?? '') ?? html);
    },
  });
  app.route({
    ...hooks,
    method: methodsOf(routes.mirror),
    url: paths.markdownPath,
    handler: (request, reply) => sendDocument(request, reply, documents().mirror),
  });
}

/** Beyond §8: from the first page one request finds everything. */
const FROM_THE_START = [
  `<${routes.apiCatalog.path}>; rel="api-catalog"`,
  `<${routes.getAgentsDocument.path}>; rel="service-desc"; type="application/json"`,
  `<${routes.getOpenapiDocument.path}>; rel="service-desc"; type="application/json"`,
  `<${pages.agents.path}>; rel="service-doc"; type="text/html"`,
];

/** Of the page that thanks: a cache that keeps one text for everybody would thank for another form. */
const BY_WHERE_FROM = {
  vary: 'Accept, Accept-Encoding, Referer',
  'cache-control': 'private, no-cache',
};

/** The page, the mirror at its own address, and the mirror at the page's (RFC 9110 §12.1). */
function preparePage({ path, markdownPath }: PagePaths, page: ServedPage, others?: ByWhereFrom) {
  const further = path === routes.startPage.path ? FROM_THE_START : [];
  const robots = page.noindex ? { 'x-robots-tag': 'noindex' } : {};
  const mirrored = {
    ...ANY_ORIGIN,
    ...robots,
    link: `<${path}>; rel="canonical", ${DESCRIBED_BY}`,
  };
  const negotiated = others === undefined ? { vary: 'Accept, Accept-Encoding' } : BY_WHERE_FROM;
  const asHtml = (of: { readonly html: string }) =>
    prepareDocument(() => of.html, 'text/html; charset=utf-8', {
      ...negotiated,
      ...robots,
      link: [
        `<${markdownPath}>; rel="alternate"; type="text/markdown"`,
        DESCRIBED_BY,
        ...further,
      ].join(', '),
    });
  return {
    html: asHtml(page),
    others: others && new Map([...others].map(([from, other]) => [from, asHtml(other)])),
    negotiated: prepareDocument(() => page.markdown, MARKDOWN, {
      ...negotiated,
      ...mirrored,
      'content-location': markdownPath,
    }),
    mirror: prepareDocument(() => page.markdown, MARKDOWN, mirrored),
  };
}
