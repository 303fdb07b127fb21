/** GET of every page, its mirror and the assets: made once, sent as they are. */
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { prepareDocument, sendDocument } from '../http/documents.ts';
import { prefersMarkdown } from '../http/negotiation.ts';
import type { Asset } from './assets.ts';
import type { Page } from './pages.ts';

/** An asset's path changes with its content (RFC 8246). */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Any page may read a mirror (contract §4, "Discovery"). */
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };

/** What is served of a page. */
export type ServedPage = Pick<Page, 'path' | 'markdownPath' | 'noindex' | 'markdown' | 'html'>;

/** Takes the application, the pages and the assets; adds their routes. */
export function registerSite(
  app: FastifyInstance,
  parts: { pages: readonly ServedPage[]; assets: readonly Asset[] },
): void {
  for (const page of parts.pages) registerPage(app, page, () => page);
  for (const asset of parts.assets) {
    const document = prepareDocument(() => asset.body, asset.contentType, {
      'cache-control': IMMUTABLE,
    });
    app.get(asset.path, (request, reply) => sendDocument(request, reply, document));
  }
}

/** Adds a page and its mirror; what they say is asked for once: at once, or at the first request. */
export function registerPage(
  app: FastifyInstance,
  page: Pick<ServedPage, 'path' | 'markdownPath' | 'noindex'>,
  read: () => Pick<ServedPage, 'markdown' | 'html'>,
  when: 'now' | 'asked' = 'now',
): void {
  let prepared: ReturnType<typeof preparePage> | undefined;
  const documents = () => {
    prepared ??= preparePage(page, read());
    return prepared;
  };
  if (when === 'now') documents();

  const config: FastifyContextConfig & { page: true } = { page: true };
  app.get(page.path, { config }, (request, reply) => {
    const { html, negotiated } = documents();
    const wanted = prefersMarkdown(request.headers.accept) ? negotiated : html;
    return sendDocument(request, reply, wanted);
  });
  const mirrorConfig: FastifyContextConfig & { discovery: true } = { discovery: true };
  app.get(page.markdownPath, { config: mirrorConfig }, (request, reply) =>
    sendDocument(request, reply, documents().mirror),
  );
}

/** The page, the mirror at its own address, and the mirror at the page's (RFC 9110 §12.1). */
function preparePage(
  { path, markdownPath, noindex }: Pick<ServedPage, 'path' | 'markdownPath' | 'noindex'>,
  content: Pick<ServedPage, 'markdown' | 'html'>,
) {
  const robots = noindex ? { 'x-robots-tag': 'noindex' } : {};
  const mirrored = {
    ...ANY_ORIGIN,
    ...robots,
    link: `<${path}>; rel="canonical", ${DESCRIBED_BY}`,
  };
  const negotiated = { vary: 'Accept, Accept-Encoding' };
  return {
    html: prepareDocument(() => content.html, 'text/html; charset=utf-8', {
      ...negotiated,
      ...robots,
      link: `<${markdownPath}>; rel="alternate"; type="text/markdown", ${DESCRIBED_BY}`,
    }),
    negotiated: prepareDocument(() => content.markdown, MARKDOWN, {
      ...negotiated,
      ...mirrored,
      'content-location': markdownPath,
    }),
    mirror: prepareDocument(() => content.markdown, MARKDOWN, mirrored),
  };
}

const MARKDOWN = 'text/markdown; charset=utf-8';
const DESCRIBED_BY = '</llms.txt>; rel="describedby"; type="text/plain"';
