/** Writes a picture of every page and error page into `screenshots/`, for people to view. */
import { mkdirSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { openBrowser, openPage } from './browser.ts';
import { breakUpstream, exhaust, plantError, type Site, startSite } from './site.ts';
import { answersTo, fillIn } from './visitor.ts';

const folder = resolve(import.meta.dirname, '../screenshots');
const widths = [360, 768, 1280];
const schemes = ['light', 'dark'] as const;

/** A picture and how to reach it. Without JavaScript, the page is the server's own. */
type Shot = {
  name: string;
  javaScript?: boolean;
  unconfigured?: boolean;
  go(page: Page, site: Site): Promise<unknown>;
};

const button = 'form button[type=submit]';
const sendNatively = async (page: Page) => {
  const loaded = page.waitForEvent('load');
  await page.evaluate('void document.forms[0].submit()');
  await loaded;
};
const open = (path: string): Shot => ({
  name: path.slice(1) || 'index',
  go: (page) => page.goto(path),
});

/** Fills in the form of a page, with some answers replaced. */
const filled = async (page: Page, form: (typeof forms)['contact'], other = {}) => {
  await page.goto(pathsOfPage(form.page).path);
  await fillIn(page, form, { ...answersTo(form, 'ada@example.com'), ...other });
};

const shots: Shot[] = [
  { name: 'error-404', go: (page) => page.goto('/nothing-here') },
  { name: 'error-405', go: (page) => page.goto('/api/leads') },
  {
    name: 'error-413-too-large',
    javaScript: false,
    go: async (page) => {
      await filled(page, forms.contact, { message: 'x'.repeat(33_000) });
      await page.locator(button).click();
    },
  },
  {
    name: 'error-500',
    javaScript: false,
    go: async (page, site) => {
      const mend = plantError(site);
      await filled(page, forms.contact);
      await page.locator(button).click();
      mend();
    },
  },
  {
    name: 'refused-400-quote',
    go: async (page) => {
      await page.goto('/quote');
      await page.getByLabel('E-mail address').fill('ada@example');
      await sendNatively(page);
    },
  },
  {
    name: 'refused-400-newsletter',
    go: async (page) => {
      await page.goto('/newsletter');
      await sendNatively(page);
    },
  },
  {
    name: 'refused-413-contact',
    javaScript: false,
    go: async (page) => {
      await filled(page, forms.contact, { message: 'What I have to say. '.repeat(110) });
      await page.locator(button).click();
    },
  },
  {
    name: 'refused-429-contact',
    javaScript: false,
    go: async (page, site) => {
      await exhaust(site, '192.0.2.9');
      await page.setExtraHTTPHeaders({ 'x-forwarded-for': '192.0.2.9' });
      await filled(page, forms.contact);
      await page.locator(button).click();
    },
  },
  {
    name: 'stored-502-quote',
    javaScript: false,
    go: async (page, site) => {
      breakUpstream(site);
      await filled(page, forms.homeowner_quote);
      await page.locator(button).click();
    },
  },
  {
    name: 'closed-contractors',
    unconfigured: true,
    go: (page) => page.goto('/contractors'),
  },
  {
    name: 'script-empty-quote',
    go: async (page) => {
      await page.goto('/quote');
      await page.locator(button).click();
    },
  },
  {
    name: 'script-suggestion-and-counter',
    go: async (page) => {
      await filled(page, forms.contact, { email: 'ada@gmial.com', message: 'x'.repeat(2_010) });
      await page.getByLabel('Subject').focus();
    },
  },
  {
    name: 'script-offline',
    go: async (page) => {
      await filled(page, forms.contact);
      await page.context().setOffline(true);
      await page.locator(button).click();
    },
  },
  {
    name: 'script-sending',
    go: async (page) => {
      await filled(page, forms.contact);
      await page.route('**/api/leads', () => {});
      await page.locator(button).click();
      await page.locator('.progress:not(:empty)').waitFor();
    },
  },
];

const site = await startSite();
const unconfigured = await startSite({ UPSTREAM_URL: '' });
const browser = await openBrowser();
mkdirSync(folder, { recursive: true });
const all = [...(await site.service.parts.pages()).map(({ path }) => open(path)), open('/reference'), ...shots];
for (const width of widths) {
  for (const scheme of schemes) for (const shot of all) await take(browser, shot, width, scheme);
}
await browser.close();
await site.close();
await unconfigured.close();
process.stdout.write(`${all.length * widths.length * schemes.length} pictures in screenshots/\n`);

async function take(on: Browser, shot: Shot, width: number, scheme: 'light' | 'dark') {
  const shown = shot.unconfigured ? unconfigured : site;
  shown.upstream.answer = (response) => response.writeHead(200).end();
  const how = { javaScript: shot.javaScript ?? true, width, scheme };
  const { page, close } = await openPage(on, shown.service.url, how);
  await shot.go(page, shown);
  await page.waitForLoadState();
  const path = join(folder, `${shot.name}-${width}-${scheme}.png`);
  await page.screenshot({ path, fullPage: true });
  await close();
}
