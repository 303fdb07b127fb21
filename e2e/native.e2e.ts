/** A browser that lacks a feature, or in which one throws, still sends a form once (reference §4.11). */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Form, forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { allRows } from '../test/support/submissions.ts';
import { openBrowser, openPage } from './browser.ts';
import { type Site, startSite } from './site.ts';
import { answersTo, fillIn } from './visitor.ts';

let site: Site;
let browser: Browser;
let visitors = 0;

beforeAll(async () => {
  site = await startSite();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const press = (page: Page) => page.locator('form button[type=submit]').click();
const REJECTS = "window.fetch = () => Promise.reject(new TypeError('planted'));";
const lacks = (name: string) => (page: Page) => page.addInitScript({ content: `delete ${name};` });
const refuses = (name: string) => (page: Page) =>
  page.addInitScript({
    content: `${name} = () => { throw new DOMException('planted', 'SecurityError'); };`,
  });
const has = (property: string, getter: string) => (page: Page) =>
  page.addInitScript({
    content: `Object.defineProperty(${property}, { configurable: true, get() { ${getter} } });`,
  });
/** Answers the script's own requests and lets those of the browser pass. */
const meets =
  (
    answer:
      | { status: number; contentType: string; body: string }
      | { status: number; headers: Record<string, string> }
      | 'nothing'
      | 'half a body'
      | 'a success in HTML',
  ) =>
  (page: Page) =>
    page.route('**/api/*', async (route) => {
      if (route.request().isNavigationRequest()) return route.continue();
      if (answer === 'nothing') return route.abort('blockedbyclient');
      if (typeof answer === 'object') return route.fulfill(answer);
      const response = await route.fetch();
      if (answer === 'half a body') return route.fulfill({ response, body: '{"ok":' });
      return route.fulfill({ response, contentType: 'text/html', body: '<h1>Sent</h1>' });
    });

/** Fills in a form on a page that was broken this way. Returns how many rows `presses` clicks of the button created. */
async function sentBy(
  presses: number,
  breakPage: (page: Page) => Promise<unknown>,
  form: Form = forms.homeowner_quote,
): Promise<number> {
  visitors += 1;
  const email = `native-${visitors}@example.com`;
  const { page, close } = await openPage(browser, site.service.url, {
    javaScript: true,
    width: 360,
  });
  await breakPage(page);
  await page.goto(pathsOfPage(form.page).path);
  await fillIn(page, form, answersTo(form, email));
  for (let pressed = 1; pressed < presses; pressed += 1) {
    await press(page);
    await page.locator('form > .notice:focus').waitFor();
    expect(page.url()).toMatch(new RegExp(`${pathsOfPage(form.page).path}$`));
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(email);
  }
  await press(page);
  await page.waitForURL('**/thank-you');
  await page.getByText(/^Thank you\. /).waitFor();
  await close();
  const rows = await allRows(site.service.parts.storage);
  return rows.filter(({ event }) => event.includes(`"${email}"`)).length;
}

/** The defects of a page, each with the function that plants it. CI runs half of them. */
const broken = [
  ['AbortSignal.timeout is missing', lacks('AbortSignal.timeout')],
  ['navigator.onLine is false', has("Navigator.prototype, 'onLine'", 'return false;')],
  ['history.replaceState throws', refuses('History.prototype.replaceState')],
  ['fetch throws', refuses('window.fetch')],
  ['fetch is missing', lacks('window.fetch')],
  ['FormData is missing', lacks('window.FormData')],
  ['Intl is missing', lacks('window.Intl')],
  ['URLSearchParams is missing', lacks('window.URLSearchParams')],
  ['crypto is missing', has("window, 'crypto'", 'return undefined;')],
  ['Object.fromEntries is missing', lacks('Object.fromEntries')],
  ['the script fails at its start', lacks('Element.prototype.closest')],
  ['sessionStorage throws', has("window, 'sessionStorage'", "throw new Error('planted');")],
  ['sessionStorage is full', refuses('Storage.prototype.setItem')],
  ['Date.now throws', refuses('Date.now')],
  ['dates cannot be formatted', refuses('Date.prototype.toLocaleString')],
  ['Response.json is missing', lacks('Response.prototype.json')],
  ['the body of a success breaks off', meets('half a body')],
  ['a proxy changes the body of a success', meets('a success in HTML')],
] as const;

describe('one click creates one row', () => {
  test.each(inTurn(broken, 2))('if %s', async (_what, breakPage) => {
    expect(await sentBy(1, breakPage)).toBe(1);
  });

  test.each(Object.values(forms))('of $name if fetch is missing', async (form) => {
    expect(await sentBy(1, lacks('window.fetch'), form)).toBe(1);
  });
});

describe('the second click creates one row', () => {
  test.each([
    ['a blocker stops the request', meets('nothing')],
    ['fetch rejects', (page: Page) => page.addInitScript({ content: REJECTS })],
    ['a proxy answers 403', meets({ status: 403, contentType: 'text/html', body: '<h1>Blocked</h1>' })],
    ['a proxy redirects to a page', meets({ status: 302, headers: { location: '/privacy' } })],
  ])('if %s', async (_what, breakPage) => {
    expect(await sentBy(2, breakPage)).toBe(1);
  });

  test.each(Object.values(forms))('of $name if a blocker stops the request', async (form) => {
    expect(await sentBy(2, meets('nothing'), form)).toBe(1);
  });

  test('if the first click exceeded the rate limit and the wait can’t be formatted', async () => {
    const limited = meets({
      status: 429,
      contentType: 'application/json',
      body: '{"error":"Too many.","retry_after":60}',
    });
    const breakPage = async (page: Page) => {
      await limited(page);
      await refuses('Number.prototype.toLocaleString')(page);
    };
    expect(await sentBy(2, breakPage)).toBe(1);
  });
});

describe('thank-you page', () => {
  test('shows the time and the reference if history.replaceState throws', async () => {
    const { page, close } = await openPage(browser, site.service.url, {
      javaScript: true,
      width: 360,
    });
    await page.goto('/thank-you');
    await page.evaluate(`sessionStorage.setItem('sent', '{"sentAt":1,"reference":"made-up","values":[]}')`);
    await refuses('History.prototype.replaceState')(page);
    await page.reload();
    await page.getByText('made-up').waitFor();
    await close();
  });
});
