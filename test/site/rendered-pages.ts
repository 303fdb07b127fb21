/** Pages of two deployments in all their states, without the content of inline styles and scripts. */
import { resolve } from 'node:path';
import { overrideAssets } from '../../src/site/assets.ts';
import { readContentOverrides } from '../../src/site/content-overrides.ts';
import { renderErrorPage } from '../../src/site/error-page.ts';
import { frameOf } from '../../src/site/layout.ts';
import { loadPages, type Page } from '../../src/site/pages.ts';
import type { SiteSettings } from '../../src/site/placeholders.ts';

const settings: SiteSettings = {
  mode: 'production',
  mcp: 'on',
  oauth: 'on',
  upstream: { kind: 'inbox' },
  mail: { kind: 'files', folder: 'mail', from: 'hello@paint.example' },
  previewSigningKeys: [Buffer.alloc(32)],
  baseUrl: 'https://paint.example',
  operator: { name: 'Fair Coat', contact: undefined },
  contractor: undefined,
  receiptRetentionDays: 123,
  submissionRetentionDays: 45,
};
const german = readContentOverrides(resolve(import.meta.dirname, '../../examples/content-de'));
const photo = { extension: 'jpg', contentType: 'image/jpeg', body: Buffer.from('photo') };
const germanFrame = frameOf(german.words, overrideAssets({ ...german, photo }));
/** A deployment with all settings of a site. */
const complete: SiteSettings = {
  ...settings,
  operator: { name: 'Fair Coat', contact: '+49 30 901820' },
  contractor: { id: 'c-1', name: 'Sample & Sons' },
  contractorPlace: 'Berlin',
  contractorSince: '1987',
  contractorTelephone: '+49 30 901821',
  contractorLink: 'https://sample.example/about',
};

const plain = (html: string) =>
  html
    .replace(/(<(style|script)>).*?(?=<\/\2>)/gs, '$1')
    .replace(/-[0-9a-f]{12}\./g, '-digest.')
    .replace(/(name="send-again" value=")[^"]*/g, '$1');

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
  const pages: [string, string][] = [
    ['start.html', english('/').html],
    ['quote.html', english('/quote').html],
    ['privacy.md', english('/privacy').markdown],
    ['embed-in-german-frame.html', own('/embed').html],
    ['german-start.html', own('/').html],
    ['german-quote.md', own('/quote').markdown],
    ['german-thanks.html', own('/thank-you').variantsByReferer?.get('/quote')?.html ?? ''],
    ['refused-quote.html', own('/quote').renderRefused({ values, faults: { email: 'email', postal_code: 'missing' } })],
    ['refused-newsletter.html', english('/newsletter').renderRefused({ values, consentMissing: true })],
    ['limited.html', own('/contact').renderRefused({ values, notice: { kind: 'limited', retryAfterSeconds: 90 } })],
    ['closed.html', closed('/contact').html],
    ['stored-quote.html', own('/quote').renderStored('kept', 'A1B2C3')],
    ['stored-newsletter.html', english('/newsletter').renderStored('left', undefined)],
    ['missing.html', renderErrorPage({ status: 404, sentence: 'There is nothing at this address.' })],
  ];
  return pages.map(([name, text]) => [name, plain(text)]);
}
