/** GET of every page, its mirror, the assets and what machines look for: made once, sent as they are. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import { at, methodsOf, pages, pathsOfPage, routes } from '../routes.ts';
import { prepareDocument, sendDocument, serve } from '../server/documents.ts';
import { registerPage } from '../server/page-and-mirror.ts';
import type { Site } from './site.ts';
import { thanksByPath } from './thanks.ts';
import { robotsText, securityText, sitemapXml } from './well-known.ts';

/** An asset's path changes with its content (RFC 8246). */
const IMMUTABLE = 'public, max-age=31536000, immutable';

/** Takes the application and the site; adds the routes of its pages and assets. */
export function registerSite(
  app: FastifyInstance,
  site: Pick<Site, 'pageNames' | 'assets' | 'pages'>,
): void {
  for (const name of site.pageNames) {
    const paths = pathsOfPage(name);
    const read = () => {
      const page = site.pages().find(({ path }) => path === paths.path);
      if (page === undefined) throw new Error(`There is no page at ${paths.path}.`);
      return page;
    };
    const byWhereFrom = () => thanksByPath(read().thanks, site.pages());
    registerPage(app, paths, read, paths.path === pages.thankYou.path ? { byWhereFrom } : {});
  }
  for (const asset of site.assets) {
    const document = prepareDocument(() => asset.body, asset.contentType, {
      'cache-control': IMMUTABLE,
    });
    serve(app, { method: methodsOf(routes.asset), url: asset.path }, document);
  }
}

type WellKnownParts = {
  baseUrl: string;
  operator: { contact: string | undefined };
  clock: Clock;
} & Pick<Site, 'frame' | 'pages'>;

/** Adds those routes; without a contact there is no `security.txt`, for it must name one (RFC 9116). */
export function registerWellKnown(app: FastifyInstance, parts: WellKnownParts): void {
  const { baseUrl } = parts;
  const listed = () => [...parts.pages().filter(({ noindex }) => !noindex), pages.reference];
  const sitemap = () => sitemapXml(baseUrl, listed());
  serve(app, at(routes.sitemap), prepareDocument(sitemap, 'application/xml; charset=utf-8'));
  serve(app, at(routes.robots), plainText(robotsText(baseUrl)));

  // Asked for by whatever reads no markup; the icon's own path changes with its content.
  app.route({
    ...at(routes.favicon),
    handler: (_request, reply) =>
      reply.header('cache-control', 'public, max-age=300').redirect(parts.frame().iconPath, 302),
  });

  const { contact } = parts.operator;
  if (contact === undefined) return;
  let security = { text: '', document: plainText('') };
  app.route({
    ...at(routes.securityContact),
    handler: (request, reply) => {
      const text = securityText(baseUrl, contact, parts.clock.now());
      if (text !== security.text) security = { text, document: plainText(text) };
      return sendDocument(request, reply, security.document);
    },
  });
}

function plainText(text: string) {
  return prepareDocument(() => text, 'text/plain; charset=utf-8');
}
