/** What machines look for on a site without being told: its robots, sitemap and security contact. */
import { routes } from '../routes.ts';
import { contactHref } from './placeholders.ts';

/** Takes the base address; returns `robots.txt`, which allows everything. */
export function robotsText(baseUrl: string): string {
  return `User-agent: *\nAllow: /\n\nSitemap: ${baseUrl}${routes.sitemap.path}\n`;
}

/** Takes what search engines may list. */
export function sitemapXml(baseUrl: string, pages: readonly { path: string }[]): string {
  const entries = pages.map(({ path }) => `<url><loc>${escapeXml(baseUrl + path)}</loc></url>\n`);
  return `<?xml version="1.0" encoding="UTF-8"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">
${entries.join('')}</urlset>
`;
}

/** It has to expire within a year, and changes once a month, so that it can be kept in between. */
export function securityText(baseUrl: string, contact: string, now: Date): string {
  const expires = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 6, 1));
  return `Contact: ${contactHref(contact)}
Expires: ${expires.toISOString()}
Canonical: ${baseUrl}${routes.securityContact.path}
`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll("'", '&apos;');
}
