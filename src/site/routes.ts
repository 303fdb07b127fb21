/** The routes of pages, mirrors, assets and well-known files. Each document is rendered once. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../platform/clock.ts';
import { at, methodsOf, pages, pathsOfPage, routes } from '../routes.ts';
import { prepareDocument, registerPage, sendDocument, serve, serveLazily } from '../server/documents.ts';
import { contactHref } from './interpolate.ts';
import type { Site } from './site.ts';

/** An asset's path changes with its content (RFC 8246). */
const IMMUTABLE = { 'cache-control': 'public, max-age=31536000, immutable' };

export function registerSite(app: FastifyInstance, site: Pick<Site, 'pageNames' | 'assets' | 'pages'>): void {
  for (const paths of site.pageNames.map(pathsOfPage)) {
    registerPage(app, paths, async () => {
      const page = (await site.pages()).find(({ path }) => path === paths.path);
      if (page === undefined) throw new Error(`There is no page at ${paths.path}.`);
      return page;
    });
  }
  for (const { path, contentType, body } of site.assets) {
    const document = prepareDocument(() => body, contentType, IMMUTABLE);
    serve(app, { method: methodsOf(routes.asset), url: path }, document);
  }
}

type WellKnownParts = Pick<Site, 'frame' | 'pages'> & {
  baseUrl: string;
  operator: { contact: string | undefined };
  clock: Clock;
};

/** Registers sitemap, robots.txt, favicon and `security.txt`, which must name a contact (RFC 9116). */
export function registerWellKnown(app: FastifyInstance, parts: WellKnownParts): void {
  const { baseUrl } = parts;
  serveLazily(app, at(routes.sitemap), async () => {
    const listed = (await parts.pages()).filter(({ noindex }) => !noindex);
    const xml = () => sitemapXml(baseUrl, [...listed, pages.reference]);
    return prepareDocument(xml, 'application/xml; charset=utf-8');
  });
  const robots = `User-agent: *
Allow: /

Sitemap: ${baseUrl}${routes.sitemap.path}
Agentmap: ${baseUrl}${routes.ardManifest.path}
`;
  serve(app, at(routes.robots), plainText(robots));

  // Programs that read no markup request the favicon. The redirect leads to the icon, whose path changes with its
  // content.
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

function sitemapXml(baseUrl: string, listed: readonly { path: string }[]): string {
  const entries = listed.map(({ path }) => `<url><loc>${escapeXml(baseUrl + path)}</loc></url>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${entries.join('')}</urlset>
`;
}

/**
 * Returns the text of `security.txt`. The text expires within a year and changes once a month, so that it can be
 * cached.
 */
function securityText(baseUrl: string, contact: string, now: Date): string {
  const expires = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 6, 1));
  return `Contact: ${contactHref(contact)}
Expires: ${expires.toISOString()}
Canonical: ${baseUrl}${routes.securityContact.path}
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&apos;');
}
