/** A page and its mirror in Markdown on the wire: what each is sent with, and which of the two (contract §4). */
import type { FastifyInstance } from 'fastify';
import { prefersMarkdown } from '../http/negotiation.ts';
import { once } from '../once.ts';
import { type PagePaths, pages, routes } from '../routes.ts';
import { prepareDocument, sendDocument } from './documents.ts';

/** Any page may read a mirror (contract §4, "Discovery"). */
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };

const MARKDOWN = 'text/markdown; charset=utf-8';
const DESCRIBED_BY = `<${routes.getLlmsText.path}>; rel="describedby"; type="text/plain"`;

export type ServedPage = { noindex: boolean; markdown: string; html: string };

/** Adds a page and its mirror, which are read when they are first asked for, after `preHandler`. */
export function registerPage(
  app: FastifyInstance,
  paths: PagePaths,
  read: () => ServedPage,
  hooks: { preHandler?: () => Promise<void> } = {},
): void {
  const documents = once(() => preparePage(paths, read()));
  app.route({
    ...hooks,
    method: routes.page.method,
    url: paths.path,
    handler: (request, reply) => {
      const { html, negotiated } = documents();
      const wanted = prefersMarkdown(request.headers.accept) ? negotiated : html;
      return sendDocument(request, reply, wanted);
    },
  });
  app.route({
    ...hooks,
    method: routes.mirror.method,
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

/** The page, the mirror at its own address, and the mirror at the page's (RFC 9110 §12.1). */
function preparePage({ path, markdownPath }: PagePaths, page: ServedPage) {
  const further = path === routes.startPage.path ? FROM_THE_START : [];
  const robots = page.noindex ? { 'x-robots-tag': 'noindex' } : {};
  const mirrored = {
    ...ANY_ORIGIN,
    ...robots,
    link: `<${path}>; rel="canonical", ${DESCRIBED_BY}`,
  };
  const negotiated = { vary: 'Accept, Accept-Encoding' };
  return {
    html: prepareDocument(() => page.html, 'text/html; charset=utf-8', {
      ...negotiated,
      ...robots,
      link: [
        `<${markdownPath}>; rel="alternate"; type="text/markdown"`,
        DESCRIBED_BY,
        ...further,
      ].join(', '),
    }),
    negotiated: prepareDocument(() => page.markdown, MARKDOWN, {
      ...negotiated,
      ...mirrored,
      'content-location': markdownPath,
    }),
    mirror: prepareDocument(() => page.markdown, MARKDOWN, mirrored),
  };
}
