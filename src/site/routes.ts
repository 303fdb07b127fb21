/** GET of every page, its mirror and the assets: prepared once, sent as they are. */
import type { FastifyContextConfig, FastifyInstance } from 'fastify';
import { prepareDocument, sendDocument } from '../http/documents.ts';
import type { Asset } from './assets.ts';
import type { Page } from './pages.ts';

/** An asset's path changes with its content (RFC 8246). */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Takes the application, the pages and the assets; adds their routes. */
export function registerSite(
  app: FastifyInstance,
  parts: { pages: readonly Page[]; assets: readonly Asset[] },
): void {
  for (const page of parts.pages) {
    const html = prepareDocument(page.html, 'text/html; charset=utf-8');
    const config: FastifyContextConfig & { page: true } = { page: true };
    app.get(page.path, { config }, (request, reply) => sendDocument(request, reply, html));

    // Any page may read a mirror (contract §4, "Discovery").
    const mirror = prepareDocument(page.markdown, 'text/markdown; charset=utf-8', {
      'access-control-allow-origin': '*',
    });
    const mirrorConfig: FastifyContextConfig & { discovery: true } = { discovery: true };
    app.get(page.markdownPath, { config: mirrorConfig }, (request, reply) =>
      sendDocument(request, reply, mirror),
    );
  }
  for (const asset of parts.assets) {
    const document = prepareDocument(asset.body.toString('utf8'), asset.contentType, {
      'cache-control': IMMUTABLE,
    });
    app.get(asset.path, (request, reply) => sendDocument(request, reply, document));
  }
}
