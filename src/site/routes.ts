/** GET of every page, its mirror and the assets: made once, sent as they are. */
import type { FastifyInstance } from 'fastify';
import { prefersMarkdown } from '../http/negotiation.ts';
import { once } from '../once.ts';
import { prepareDocument, sendDocument } from '../server/documents.ts';
import { type Page, pathsOf } from './pages.ts';
import type { Site } from './site.ts';

/** An asset's path changes with its content (RFC 8246). */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Any page may read a mirror (contract §4, "Discovery"). */
const ANY_ORIGIN = { 'access-control-allow-origin': '*' };

type Paths = Pick<Page, 'path' | 'markdownPath'>;

/** What is served of a page. */
type ServedContent = Pick<Page, 'noindex' | 'markdown' | 'html'>;

/** Takes the application and the site; adds the routes of its pages and assets. */
export function registerSite(
  app: FastifyInstance,
  site: Pick<Site, 'pageNames' | 'assets'> & { pages(): readonly (Paths & ServedContent)[] },
): void {
  for (const name of site.pageNames) {
    const paths = pathsOf(name);
    registerPage(app, paths, () => {
      const page = site.pages().find(({ path }) => path === paths.path);
      if (page === undefined) throw new Error(`There is no page at ${paths.path}.`);
      return page;
    });
  }
  for (const asset of site.assets) {
    const document = prepareDocument(() => asset.body, asset.contentType, {
      'cache-control': IMMUTABLE,
    });
    app.get(asset.path, (request, reply) => sendDocument(request, reply, document));
  }
}

/** Adds a page and its mirror, which are read when they are first asked for, after `preHandler`. */
export function registerPage(
  app: FastifyInstance,
  paths: Paths,
  read: () => ServedContent,
  hooks: { preHandler?: () => Promise<void> } = {},
): void {
  const documents = once(() => preparePage(paths, read()));
  app.get(paths.path, hooks, (request, reply) => {
    const { html, negotiated } = documents();
    const wanted = prefersMarkdown(request.headers.accept) ? negotiated : html;
    return sendDocument(request, reply, wanted);
  });
  app.get(paths.markdownPath, hooks, (request, reply) =>
    sendDocument(request, reply, documents().mirror),
  );
}

/** The page, the mirror at its own address, and the mirror at the page's (RFC 9110 §12.1). */
function preparePage({ path, markdownPath }: Paths, page: ServedContent) {
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
      link: `<${markdownPath}>; rel="alternate"; type="text/markdown", ${DESCRIBED_BY}`,
    }),
    negotiated: prepareDocument(() => page.markdown, MARKDOWN, {
      ...negotiated,
      ...mirrored,
      'content-location': markdownPath,
    }),
    mirror: prepareDocument(() => page.markdown, MARKDOWN, mirrored),
  };
}

const MARKDOWN = 'text/markdown; charset=utf-8';
const DESCRIBED_BY = '</llms.txt>; rel="describedby"; type="text/plain"';
