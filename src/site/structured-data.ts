/** What a page is about, as schema.org's JSON-LD: a data block, which no browser executes. */
import { type PagePaths, pages, routes } from '../routes.ts';
import type { SiteSettings } from './placeholders.ts';

export type DescribedPage = PagePaths & { title: string; description: string; lang: string };

/** The pages that are something more particular than a page. */
const types: Readonly<Record<string, string>> = { [pages.contact.path]: 'ContactPage' };

/** Takes the settings and a page; returns JSON that can stand inside a script element. */
export function structuredData(settings: SiteSettings, page: DescribedPage): string {
  const { baseUrl, operator } = settings;
  const start = baseUrl + routes.startPage.path;
  const organization = `${start}#operator`;
  const website = `${start}#website`;
  const graph = [
    {
      '@type': 'Organization',
      '@id': organization,
      name: operator.name,
      url: start,
      ...contactOf(operator.contact),
    },
    {
      '@type': 'WebSite',
      '@id': website,
      name: operator.name,
      url: start,
      publisher: { '@id': organization },
    },
    {
      '@type': types[page.path] ?? 'WebPage',
      '@id': baseUrl + page.path,
      url: baseUrl + page.path,
      name: page.title,
      description: page.description,
      inLanguage: page.lang,
      isPartOf: { '@id': website },
    },
  ];
  // `<` would end the script element, or open a comment in it.
  return JSON.stringify({ '@context': 'https://schema.org', '@graph': graph }).replaceAll(
    '<',
    '\\u003c',
  );
}

function contactOf(contact: string | undefined): object {
  if (contact === undefined) return {};
  return contact.includes('@') ? { email: contact } : { telephone: contact };
}
