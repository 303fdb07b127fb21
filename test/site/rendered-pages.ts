/** Pages of two deployments in all their states, without the content of inline styles and scripts. */
import { resolve } from 'node:path';
import { overrideAssets } from '../../src/site/assets.ts';
import { readContentOverrides } from '../../src/site/content-overrides.ts';
import { renderErrorPage } from '../../src/site/error-page.ts';
import { frameOf } from '../../src/site/layout.ts';
import { loadPages, type Page } from '../../src/site/pages.ts';
import type { SiteSettings } from '../../src/site/placeholders.ts';
import { deployment } from './deployment.ts';

/** A deployment that names neither contact nor contractor. */
const settings: SiteSettings = {
  ...deployment,
  operator: { name: 'Fair Coat', contact: undefined },
  contractor: undefined,
};
const german = readContentOverrides(resolve(import.meta.dirname, '../../examples/content-de'));
const photo = { extension: 'jpg', contentType: 'image/jpeg', body: Buffer.from('photo') };
const germanFrame = frameOf(german.words, overrideAssets({ ...german, photo }));
/** A deployment with all settings of a site. */
const complete: SiteSettings = {
  ...deployment,
  operator: { name: 'Fair Coat', contact: '+49 30 901820' },
  contractor: { id: 'c-1', name: 'Sample & Sons' },
  contractorPlace: 'Berlin',
  contractorSince: '1987',
  contractorTelephone: '+49 30 901821',
  contractorLink: 'https://sample.example/about',
};

/** Removes the content of inline styles and scripts, and values that change with each build or each rendering. */
const plain = (html: string) =>
  html
    .replace(/(<(style|script)>).*?(?=<\/\2>)/gs, '$1')
    .replace(/-[0-9a-f]{12}\./g, '-digest.')
    .replace(/(name="send-again" value=")[^"]*/g, '$1');
/** Returns the main part of a page. Other records have the same frame. */
const mainOf = (html: string) => `${/<main.*<\/main>/s.exec(html)?.[0]}\n`;
/** Returns the main part without the templates for the script, which the page of a new form has as well. */
const formOf = (html: string) => mainOf(html).replace(/<template.*?<\/template>\n/gs, '');

/** Returns each page by the name of its record. */
export function renderedPages(): [string, string][] {
  const among = (pages: Page[]) => (path: string) => {
    const page = pages.find((each) => each.path === path);
    if (page === undefined) throw new Error(`no page ${path}`);
    return page;
  };
  const english = among(loadPages(settings));
  const closed = among(loadPages({ ...complete, upstream: { kind: 'none' } }));
  const own = among(loadPages(complete, german, germanFrame));
  const values = { name: 'Ada "Lovelace"', email: 'ada', privacy: 'yes', project_type: 'Fence' };
  const faults = { email: 'email', postal_code: 'missing' } as const;
  const notice = { kind: 'limited', retryAfterSeconds: 90 } as const;
  const pages: [string, string][] = [
    ['start.html', english('/').html],
    ['german-start.html', own('/').html],
    ['embed-in-german-frame.html', own('/embed').html],
    ['privacy.md', english('/privacy').markdown],
    ['german-quote.md', own('/quote').markdown],
    ['quote.html', mainOf(english('/quote').html)],
    ['german-thanks.html', mainOf(own('/thank-you').variantsByReferer?.get('/quote')?.html ?? '')],
    ['refused-quote.html', formOf(own('/quote').renderRefused({ values, faults }))],
    ['refused-newsletter.html', formOf(english('/newsletter').renderRefused({ values, consentMissing: true }))],
    ['limited.html', formOf(own('/contact').renderRefused({ values, notice }))],
    ['closed.html', closed('/contact').html],
    ['stored-quote.html', mainOf(own('/quote').renderStored('kept', 'A1B2C3'))],
    ['stored-newsletter.html', english('/newsletter').renderStored('left', undefined)],
    ['missing.html', mainOf(renderErrorPage({ status: 404, sentence: 'There is nothing at this address.' }))],
  ];
  return pages.map(([name, text]) => [name, plain(text)]);
}
