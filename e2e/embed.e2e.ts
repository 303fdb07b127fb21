/** The forms of /embed, pasted unchanged into a page of another origin. */
import { createServer, type Server } from 'node:http';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { freePort } from '../test/support/free-port.ts';
import { freshAddress } from '../test/support/service.ts';
import { openBrowser } from './browser.ts';
import { breakUpstream, type Site, startSite } from './site.ts';

let site: Site;
let other: { origin: string; server: Server };
let browser: Browser;
let blocks: string[];

beforeAll(async () => {
  const port = await freePort();
  const origin = `http://127.0.0.1:${port}`;
  site = await startSite({ ALLOWED_ORIGINS: origin });
  const text = await (await fetch(`${site.service.url}/embed.md`)).text();
  blocks = [...text.matchAll(/^```\w+\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
  const server = createServer((request, response) => {
    const [lead = '', script = '', newsletter = ''] = blocks;
    if (request.url === '/lead-form.js') {
      response.setHeader('content-type', 'text/javascript').end(script);
      return;
    }
    // The page documents these directives for sites with a strict policy of their own.
    const { url } = site.service;
    response.setHeader(
      'content-security-policy',
      `default-src 'none'; script-src 'self'; form-action ${url}; connect-src ${url}`,
    );
    const form = request.url === '/newsletter' ? newsletter : lead;
    const encoding = request.url === '/older' ? 'windows-1252' : 'utf-8';
    const load = request.url === '/script' ? '<script type="module" src="lead-form.js"></script>' : '';
    response
      .setHeader('content-type', `text/html; charset=${encoding}`)
      .end(`<!doctype html><html lang="en"><title>Elsewhere</title>${form}${load}</html>`);
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  other = { origin, server };
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await new Promise((resolve) => other.server.close(resolve));
  await site.close();
});
beforeEach(() => {
  site.upstream.answer = (response) => response.writeHead(200).end();
  site.upstream.delivered = [];
});

async function open(path: string, javaScriptEnabled: boolean): Promise<[Page, BrowserContext]> {
  const context = await browser.newContext({ javaScriptEnabled });
  const page = await context.newPage();
  await page.goto(other.origin + path);
  return [page, context];
}

async function fillIn(page: Page, email = 'ada@example.com', name = 'Ada Lovelace'): Promise<void> {
  await page.getByLabel('Full name').fill(name);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Postal code').fill('94110');
}

const sent = () => site.upstream.delivered.map(({ event }) => event.data);
const lead = {
  form: 'homeowner_quote',
  fields: { name: 'Ada Lovelace', email: 'ada@example.com', postal_code: '94110' },
};

test('plain HTML on a page in windows-1252 sends letters with accents', async () => {
  const [page, context] = await open('/older', false);
  await fillIn(page, 'ada@example.com', 'Jürgen Šmíd 山');
  await page.getByRole('button').click();
  await page.waitForURL(`${site.service.url}/thank-you`);
  expect(sent()).toMatchObject([{ fields: { name: 'Jürgen Šmíd 山' } }]);
  await context.close();
});

test('plain HTML sends a lead and opens the thank-you page of the service, without a script', async () => {
  const [page, context] = await open('/', false);
  await fillIn(page);
  await page.getByRole('button').click();
  await page.waitForURL(`${site.service.url}/thank-you`);
  expect(sent()).toEqual([expect.objectContaining(lead)]);
  await context.close();
});

test('an invalid lead from plain HTML opens the form on the service’s site with the answers', async () => {
  const [page, context] = await open('/', false);
  await fillIn(page, 'ada@example');
  await page.getByRole('button').click();
  await page.getByRole('heading', { name: /check what you entered/i }).waitFor();
  expect(new URL(page.url()).origin).toBe(site.service.url);
  expect(await page.getByLabel('Full name').inputValue()).toBe('Ada Lovelace');
  // The returned page sends the form like any other page of the service.
  await page.getByLabel('E-mail address').fill('ada@example.com');
  await page.locator('form button[type=submit]').click();
  await page.waitForURL(`${site.service.url}/thank-you`);
  expect(sent()).toEqual([expect.objectContaining(lead)]);
  await context.close();
});

test('the script sends a lead on the same page and states each error in words', async () => {
  const [page, context] = await open('/script', true);
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  await fillIn(page, 'ada@example');
  await page.getByRole('button').click();
  const status = page.getByRole('status');
  await expect.poll(() => status.innerText()).toBe('email is not a valid e-mail address.');
  await page.getByLabel('E-mail').fill('ada@example.com');
  await page.getByRole('button').click();
  await expect.poll(() => status.innerText()).toBe('Thank you, we have it.');
  expect(page.url()).toBe(`${other.origin}/script`);
  expect(await page.getByLabel('Full name').inputValue()).toBe('');
  expect(sent()).toEqual([expect.objectContaining(lead)]);

  breakUpstream(site);
  await fillIn(page);
  await page.getByRole('button').click();
  await expect.poll(() => status.innerText()).toMatch(/not confirmed yet|could not/i);
  expect(await page.getByLabel('Full name').inputValue()).toBe('Ada Lovelace');
  await context.setOffline(true);
  await page.getByRole('button').click();
  await expect.poll(() => status.innerText()).toMatch(/^It is not certain/);
  expect(complaints).toEqual([]);
  await context.close();
});

test.each([
  ['FormData is missing', 'delete globalThis.FormData', 1],
  ['fetch throws', "globalThis.fetch = () => { throw new TypeError('blocked'); }", 1],
  ['fetch is blocked', "globalThis.fetch = () => Promise.reject(new TypeError('blocked'))", 2],
])('the script lets the browser send the form once if %s', async (_name, breakage, presses) => {
  const [page, context] = await open('/script', true);
  // The limit is five submissions of one address.
  await context.setExtraHTTPHeaders({ 'x-forwarded-for': freshAddress() });
  await page.evaluate(breakage);
  await fillIn(page);
  for (let press = 1; press < presses; press += 1) {
    await page.getByRole('button').click();
    await expect.poll(() => page.getByRole('status').innerText()).toMatch(/^It is not certain/);
  }
  await page.getByRole('button').click();
  await page.waitForURL(`${site.service.url}/thank-you`);
  expect(sent()).toEqual([expect.objectContaining(lead)]);
  await context.close();
});

test('the script reads no answer if its origin is not allowed', async () => {
  const stranger = await startSite();
  const context = await browser.newContext();
  const page = await context.newPage();
  await page.route(`${other.origin}/script`, async (route) => {
    const response = await route.fetch();
    const body = (await response.text()).replaceAll(site.service.url, stranger.service.url);
    await route.fulfill({ body, contentType: 'text/html' });
  });
  await page.goto(`${other.origin}/script`);
  await fillIn(page);
  await page.getByRole('button').click();
  await expect.poll(() => page.getByRole('status').innerText()).toMatch(/^It is not certain/);
  expect(stranger.upstream.delivered).toEqual([]);
  await context.close();
  await stranger.close();
});

test('the newsletter form requires consent and opens the thank-you page of the service, without a script', async () => {
  const [page, context] = await open('/newsletter', false);
  await page.getByLabel('E-mail').fill('grace@example.com');
  await page.getByRole('button').click();
  expect(page.url()).toBe(`${other.origin}/newsletter`);
  await page.getByRole('checkbox').check();
  await page.getByRole('button').click();
  await page.waitForURL(`${site.service.url}/thank-you`);
  expect(sent()).toEqual([
    expect.objectContaining({
      form: 'newsletter',
      fields: { email: 'grace@example.com', contractor: 'your-site' },
    }),
  ]);
  await context.close();
});
