/** What machines look for on a site without being told: robots, sitemap, favicon, security contact. */
import type { FastifyInstance } from 'fastify';
import type { Clock } from '../clock.ts';
import { prepareDocument, sendDocument } from '../server/documents.ts';
import { contactHref } from './placeholders.ts';

type WellKnownParts = {
  baseUrl: string;
  operator: { contact: string | undefined };
  clock: Clock;
  frame: () => { iconPath: string };
  /** The pages that search engines may list are in the sitemap. */
  pages: () => readonly { path: string; noindex: boolean }[];
};

/** Adds the routes; without a contact there is no `security.txt`, for it must name one (RFC 9116). */
export function registerWellKnown(app: FastifyInstance, parts: WellKnownParts): void {
  const sitemap = prepareDocument(() => sitemapOf(parts), 'application/xml; charset=utf-8');
  app.get('/sitemap.xml', (request, reply) => sendDocument(request, reply, sitemap));

  const text = `User-agent: *\nAllow: /\n\nSitemap: ${parts.baseUrl}/sitemap.xml\n`;
  const robots = plainText(text);
  app.get('/robots.txt', (request, reply) => sendDocument(request, reply, robots));

  // Asked for by whatever reads no markup; the icon's own path changes with its content.
  app.get('/favicon.ico', (_request, reply) =>
    reply.header('cache-control', 'public, max-age=300').redirect(parts.frame().iconPath, 302),
  );

  const { contact } = parts.operator;
  if (contact === undefined) return;
  let security = { text: '', document: plainText('') };
  app.get('/.well-known/security.txt', (request, reply) => {
    const text = securityText(parts, contact);
    if (text !== security.text) security = { text, document: plainText(text) };
    return sendDocument(request, reply, security.document);
  });
}

function plainText(text: string) {
  return prepareDocument(() => text, 'text/plain; charset=utf-8');
}

function sitemapOf({ baseUrl, pages }: WellKnownParts): string {
  const entries = pages()
    .filter(({ noindex }) => !noindex)
    .map(({ path }) => `<url><loc>${escapeXml(baseUrl + path)}</loc></url>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${entries.join('')}</urlset>
`;
}

/** It has to expire within a year, and changes once a month, so that it can be kept in between. */
function securityText({ baseUrl, clock }: WellKnownParts, contact: string): string {
  const now = clock.now();
  const expires = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 6, 1));
  return `Contact: ${contactHref(contact)}
Expires: ${expires.toISOString()}
Canonical: ${baseUrl}/.well-known/security.txt
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&apos;');
}
