/** The page after a sent form: that it was sent, the next steps, and the answers. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Form, type FormName, forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { shortReference } from '../src/submissions/submission.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf, type Surroundings } from './browser.ts';
import { type Site, startSite } from './site.ts';
import { surroundingsInTurn } from './surroundings.ts';
import { answersTo, fillIn } from './visitor.ts';

let site: Site;
let browser: Browser;
beforeAll(async () => {
  site = await startSite();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const HEADINGS: Readonly<Record<FormName, string>> = {
  homeowner_quote: 'Request sent',
  contractor_signup: 'Request sent',
  contact: 'Message sent',
  newsletter: 'Check your inbox',
};
const answers = (form: Form) => answersTo(form, `${form.name}@example.com`);
const send = async (page: Page, form: Form, given = answers(form)) => {
  await page.goto(pathsOfPage(form.page).path);
  await fillIn(page, form, given);
  await page.locator('form button[type=submit]').click();
  await page.waitForURL('**/thank-you');
};
const main = async (page: Page) => (await page.locator('main').innerText()).replace(/\s+/g, ' ');
const stored = (page: Page) =>
  page.evaluate('JSON.stringify([Object.keys(sessionStorage), Object.keys(localStorage)])');
const pictured = async (page: Page, name: string) => {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/thanks-${name}.png`, fullPage: true });
};

describe.each(surroundingsInTurn)('thank-you page, %s', (_name, how: Surroundings) => {
  test('thanks with different words for each form', async () => {
    const { page, complaints, close } = await openPage(browser, site.service.url, how);
    for (const form of Object.values(forms)) {
      await send(page, form);
      await page.getByRole('heading', { level: 1, name: HEADINGS[form.name] }).waitFor();
      const said = await main(page);
      expect(said).toContain('Next steps, and when');
      expect(said).not.toContain('You asked for');
      expect(/Sent at \d/.test(said), form.name).toBe(how.javaScript);
      expect(said.includes('What you sent'), form.name).toBe(how.javaScript);
      const reference = shortReference(String(site.upstream.delivered.at(-1)?.headers['webhook-id']));
      const hasReference = how.javaScript && form !== forms.newsletter;
      expect(said.includes(`Your reference: ${reference}`), form.name).toBe(hasReference);
      expect(await overflowOf(page)).toBe(0);
      if (how.javaScript) expect(await findings(page, 'AAA')).toEqual([]);
      await pictured(page, `${form.name}-${how.width}-${how.scheme}-${how.javaScript}`);
    }
    expect(complaints).toEqual([]);
    await close();
  });
});

const how = { javaScript: true, width: 360 };

test('the thank-you page shows the answers once, prints them and stores them nowhere', async () => {
  const { page, complaints, close } = await openPage(browser, site.service.url, how);
  const form = forms.homeowner_quote;
  const message = 'Two rooms.\n<b>Not bold</b>';
  await send(page, form, { ...answers(form), message });
  const pairs = page.locator('.typed dl div');
  const shown = await Promise.all(
    (await pairs.all()).map(async (pair) => [
      await pair.locator('dt').innerText(),
      await pair.locator('dd').innerText(),
    ]),
  );
  const typed = { ...answers(form), message };
  expect(shown).toEqual(form.fields.map(({ name, label }) => [label, typed[name as 'message']]));
  expect(page.url()).toBe(`${site.service.url}/thank-you`);
  expect(await stored(page)).toBe('[[],[]]');
  const state = JSON.stringify(await page.evaluate('history.state'));
  expect(state).toMatch(/sentAt.*reference/);
  expect(state).not.toMatch(/Ada|example\.com|rooms/);

  await page.emulateMedia({ media: 'print' });
  expect(await page.getByText('Ada Lovelace').isVisible()).toBe(true);
  expect(await page.getByRole('button', { name: 'Print this page' }).isVisible()).toBe(false);
  await page.emulateMedia({ media: 'screen' });
  await page.evaluate('window.print = () => { window.printed = true; }');
  await page.getByRole('button', { name: 'Print this page' }).click();
  expect(await page.evaluate('window.printed')).toBe(true);

  // After a reload, the page still shows the time and the reference.
  const before = await page.locator('.success').innerText();
  await page.reload();
  await page.getByText(/^Sent at/).waitFor();
  expect(await page.locator('.success').innerText()).toBe(before);
  expect(await main(page)).not.toMatch(/What you sent|Ada Lovelace/);
  expect(complaints).toEqual([]);
  await close();
});

test('after back and forward, the pages say that the form was sent, and nothing is sent again', async () => {
  const { page, close } = await openPage(browser, site.service.url, how);
  await send(page, forms.contact);
  const before = site.upstream.delivered.length;
  await page.goBack();
  await page.getByText('You have sent this already').waitFor();
  await page.goForward();
  await page.getByText(/^Sent at/).waitFor();
  await page.getByRole('heading', { level: 1, name: 'Message sent' }).waitFor();
  expect(site.upstream.delivered.length).toBe(before);
  await close();
});

test.each([
  ['if nothing can be stored', `Storage.prototype.setItem = () => { throw new Error('no'); }`],
  ['if the stored value is invalid', `Storage.prototype.getItem = () => '{"values":7}'`],
])('%s, the form is sent and the thank-you page has the title of the form', async (_where, script) => {
  const { page, complaints, close } = await openPage(browser, site.service.url, how);
  await page.addInitScript({ content: script });
  await send(page, forms.contact);
  await page.getByRole('heading', { level: 1, name: 'Message sent' }).waitFor();
  expect(await main(page)).not.toMatch(/What you sent|Invalid|NaN/);
  expect(complaints).toEqual([]);
  await close();
});

test('the thank-you page shows no time and no reference if nothing was sent', async () => {
  const { page, complaints, close } = await openPage(browser, site.service.url, how);
  await page.goto('/thank-you');
  // Nor does it show answers, or that a subscription needs nothing more.
  expect(await main(page)).toMatch(/^Thank you If you have just sent a form, it has arrived\./);
  expect(await main(page)).not.toMatch(/Sent at|Your reference:|What you sent/);
  expect(complaints).toEqual([]);
  await close();
});

test('the button shows a turning ring while the form is sent, and a ring without motion with reduced motion', async () => {
  const { page, close } = await openPage(browser, site.service.url, how);
  await page.goto('/contact');
  await fillIn(page, forms.contact, answers(forms.contact));
  await page.route('**/api/leads', () => {});
  await page.locator('form button[type=submit]').click();
  await page.getByRole('button', { name: 'Sending…' }).waitFor();
  const ring = () =>
    page.evaluate(`(({ content, animationName, borderTopWidth }) => [content, animationName, borderTopWidth])(
      getComputedStyle(document.querySelector('form .button'), '::before'))`);
  expect(await ring()).toEqual(['""', 'turn', '3px']);
  await page.emulateMedia({ reducedMotion: 'reduce' });
  expect(await ring()).toEqual(['""', 'none', '3px']);
  await close();
});
