import { rmSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forms } from '../src/forms/catalog.ts';
import { type ServiceProcess, spawnService, untilItAnswers } from '../test/support/process.ts';
import { openBrowser, openPage } from './browser.ts';
import { answersTo, fillIn } from './visitor.ts';

let service: ServiceProcess;
let browser: Browser;

beforeAll(async () => {
  service = await spawnService();
  await untilItAnswers(service);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await service.end();
  rmSync(service.dataDir, { recursive: true, force: true });
});

/** The browser itself reports the status of a page in the console, and nothing else may be there. */
const itsStatus = (status: number) => [
  expect.stringMatching(`^console: Failed to load resource: .* status of ${status} `),
];

const submitted = async (page: Page) => {
  const answer = page.waitForResponse((response) => response.request().method() === 'POST');
  await page.locator('form button[type=submit]').click();
  const response = await answer;
  await page.waitForLoadState();
  return response.status();
};

describe.each([
  ['at 360 px', 360],
  ['at 1280 px', 1280],
])('a refused form %s', (_name, width) => {
  test('without JavaScript: a phone number that is too long, with a way back', async () => {
    const how = { javaScript: false, width };
    const { page, complaints, close } = await openPage(browser, service.url, how);
    const form = forms.contractor_signup;
    await page.goto(form.page);
    const answers = answersTo(form, 'long@example.com');
    await fillIn(page, form, { ...answers, phone: '5'.repeat(51) });
    // A native form's value over its own bound is 400; only one over 2000 is 413 (spec §8).
    expect(await submitted(page)).toBe(400);
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
      'Please check what you entered',
    );
    expect(await page.locator('main').textContent()).toContain('phone');
    expect(await page.locator('main').textContent()).not.toContain('555');
    expect(complaints).toEqual(itsStatus(400));
    expect(
      await page.evaluate(() => document.documentElement.scrollWidth - innerWidth),
    ).toBeLessThanOrEqual(0);
    await page.getByRole('link', { name: 'Back to the form' }).click();
    await page.waitForURL(`**${form.page}`);
    await close();
  });

  test('with the browser’s own checks turned off: every missing field, with a way back', async () => {
    const how = { javaScript: true, width };
    const { page, complaints, close } = await openPage(browser, service.url, how);
    const form = forms.homeowner_quote;
    await page.goto(form.page);
    await page.evaluate(() => {
      for (const one of document.forms) one.noValidate = true;
    });
    expect(await submitted(page)).toBe(400);
    const text = await page.locator('main').textContent();
    for (const name of ['name', 'email', 'postal']) expect(text?.toLowerCase()).toContain(name);
    expect(complaints).toEqual(itsStatus(400));
    await page.getByRole('link', { name: 'Back to the form' }).click();
    await page.waitForURL(`**${form.page}`);
    await close();
  });
});

test('the browser’s own checks hold an empty form back', async () => {
  const { page, complaints, close } = await openPage(browser, service.url, {
    javaScript: true,
    width: 1280,
  });
  let posts = 0;
  page.on('request', (request) => {
    if (request.method() === 'POST') posts += 1;
  });
  await page.goto(forms.homeowner_quote.page);
  await page.locator('form button[type=submit]').click();
  expect(await page.locator('input:invalid').count()).toBe(3);
  expect(new URL(page.url()).pathname).toBe(forms.homeowner_quote.page);
  expect([posts, complaints]).toEqual([0, []]);
  await close();
});

test('too many of one address: the page says so, and how long', async () => {
  const { page, close } = await openPage(browser, service.url, { javaScript: false, width: 360 });
  const form = forms.contact;
  const statuses: number[] = [];
  for (let count = 0; count < 6; count += 1) {
    await page.goto(form.page);
    await fillIn(page, form, answersTo(form, `often-${count}@example.com`));
    const first = page.waitForResponse((response) => response.request().method() === 'POST');
    await page.locator('form button[type=submit]').click();
    statuses.push((await first).status());
    await page.waitForLoadState();
  }
  expect(statuses).toEqual([303, 303, 303, 303, 303, 429]);
  expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(
    'That was a little too often',
  );
  expect(await page.getByRole('link', { name: 'Back to the form' }).count()).toBe(1);
  await close();
});

describe('the watch itself sees', () => {
  test.each([
    ['a script in the page', '<script>window.planted = 1</script>', /script-src/],
    ['a style in the page', '<p style="color: red">x</p>', /style-src/],
    ['a picture of another origin', '<img src="http://127.0.0.1:9/x.png">', /img-src/],
  ])('%s, with JavaScript and without', async (_name, markup, directive) => {
    for (const javaScript of [true, false]) {
      const watched = await openPage(browser, service.url, { javaScript, width: 1280 });
      const { page, complaints } = watched;
      // The page as it is, and the markup planted in it on its way to the browser.
      await page.route('**/quote', async (route) => {
        const response = await route.fetch();
        const html = (await response.text()).replace('</main>', `${markup}</main>`);
        await route.fulfill({ response, body: html });
      });
      await page.goto('/quote');
      expect(complaints.join('\n')).toMatch(directive);
      if (javaScript) expect(complaints.join('\n')).toContain('policy: ');
      await watched.close();
    }
  });

  test('a request to another origin', async () => {
    const { page, complaints, close } = await openPage(browser, service.url, {
      javaScript: true,
      width: 1280,
    });
    await page.goto('/quote');
    await page.goto(service.url.replace('127.0.0.1', 'localhost'));
    expect(complaints).toContainEqual(expect.stringMatching('^elsewhere: http://localhost'));
    await close();
  });
});
