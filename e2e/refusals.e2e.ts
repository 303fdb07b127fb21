import { rmSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { type ServiceProcess, spawnService, untilItAnswers } from '../test/support/process.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
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

/** Chromium reports the status of a page in the console, and nothing else may be there. */
const itsStatus = (status: number) => [
  expect.stringMatching(`^console: Failed to load resource: .* status of ${status} `),
];

const press = (page: Page) => page.locator('form button[type=submit]').click();
/** Submits the form past the checks of browser and page. */
const sendUnchecked = (page: Page) => page.evaluate('void document.forms[0].submit()');

/** Sends the form and returns the status of the answer. */
async function submitted(page: Page, send: (page: Page) => Promise<unknown> = press) {
  const answer = page.waitForResponse((response) => response.request().method() === 'POST');
  await send(page);
  return (await answer).status();
}

describe.each([
  ['at 360 px', 360],
  ['at 1280 px', 1280],
])('refused form %s', (_name, width) => {
  test('returns without JavaScript with an error at the field and all answers', async () => {
    const how = { javaScript: false, width };
    const { page, complaints, close } = await openPage(browser, service.url, how);
    const form = forms.contractor_signup;
    const answers = answersTo(form, `long-${width}@example.com`);
    await page.goto(pathsOfPage(form.page).path);
    await fillIn(page, form, { ...answers, phone: '5'.repeat(51) });
    // In a native form, a value over its own limit is 413 (reference §4.6).
    expect(await submitted(page)).toBe(413);
    const alert = page.getByRole('alert');
    expect(await alert.textContent()).toContain('Please check what you entered');
    expect(await overflowOf(page)).toBeLessThanOrEqual(0);
    expect(await alert.getByRole('link').allTextContents()).toEqual([expect.stringContaining('“Phone number”')]);
    expect(await page.getByLabel('Company', { exact: true }).inputValue()).toBe(answers.company);
    expect(await page.getByLabel(answers.company_size ?? '').isChecked()).toBe(true);

    await page.getByLabel('Phone number').fill('+1 555 0100');
    await press(page);
    await page.waitForURL('**/thank-you');
    expect(complaints).toEqual(itsStatus(413));
    await close();
  });

  test('returns with every missing field if the checks of browser and page are bypassed', async () => {
    const how = { javaScript: true, width };
    const { page, complaints, close } = await openPage(browser, service.url, how);
    const form = forms.homeowner_quote;
    await page.goto(pathsOfPage(form.page).path);
    expect(await submitted(page, sendUnchecked)).toBe(400);
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.getByRole('link').allTextContents()).toEqual(
      ['Full name', 'E-mail address', 'Postal code'].map((label) => expect.stringContaining(label)),
    );
    // The script leads the links of the server's page into the controls.
    await alert.getByRole('link').nth(1).click();
    await page.keyboard.type('typed');
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('typed');
    await fillIn(page, form, answersTo(form, `missing-${width}@example.com`));
    await press(page);
    await page.waitForURL('**/thank-you');
    expect(complaints).toEqual(itsStatus(400));
    await close();
  });
});

describe.each([
  ['with JavaScript', true],
  ['without JavaScript', false],
])('limits of a form %s', (_name, javaScript) => {
  test('an empty form is not sent', async () => {
    const how = { javaScript, width: 1280 };
    const { page, complaints, close } = await openPage(browser, service.url, how);
    let posts = 0;
    page.on('request', (request) => {
      if (request.method() === 'POST') posts += 1;
    });
    await page.goto(pathsOfPage(forms.homeowner_quote.page).path);
    await press(page);
    expect(await page.locator('input:invalid').count()).toBe(3);
    expect(await page.locator('input:focus, .notice:focus').count()).toBe(1);
    expect(new URL(page.url()).pathname).toBe(pathsOfPage(forms.homeowner_quote.page).path);
    expect([posts, complaints]).toEqual([0, []]);
    await close();
  });

  test('the sixth form from one address has to wait and keeps its answers', async () => {
    const how = { javaScript, width: 360 };
    const { page, complaints, close } = await openPage(browser, service.url, how);
    const form = forms.contact;
    const send = async (email: string) => {
      await page.goto(pathsOfPage(form.page).path);
      await fillIn(page, form, answersTo(form, email));
      return await submitted(page);
    };
    for (let count = 1; count <= 5; count += 1) {
      expect(await send(`often-${count}@example.com`)).toBe(javaScript ? 200 : 303);
      await page.waitForURL('**/thank-you');
    }
    expect(await send('sixth@example.com')).toBe(429);
    expect(await page.getByRole('alert').textContent()).toMatch(/Not sent yet.*15 minutes/s);
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('sixth@example.com');
    expect(complaints).toEqual(itsStatus(429));
    await close();
  });
});

test('a form too large to read gets an error page with a way back', async () => {
  const how = { javaScript: false, width: 360 };
  const { page, complaints, close } = await openPage(browser, service.url, how);
  const form = forms.contact;
  await page.goto(pathsOfPage(form.page).path);
  await fillIn(page, form, {
    ...answersTo(form, 'large@example.com'),
    message: 'a'.repeat(33_000),
  });
  expect(await submitted(page)).toBe(413);
  await page.getByRole('heading', { name: 'Your text is too long' }).waitFor();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  // The browser's back button keeps the answers, so the link to an empty form must not look like it.
  expect(await page.locator('main .button:not(.quiet)').count()).toBe(0);
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/too-large-360-light.png`, fullPage: true });
  const answer = page.waitForResponse((response) => response.request().isNavigationRequest());
  await page.getByRole('link', { name: 'Start again with an empty form' }).click({ timeout: 5_000 });
  expect((await answer).status()).toBe(200);
  expect(new URL(page.url()).pathname).toBe(pathsOfPage(form.page).path);
  expect(complaints).toEqual(itsStatus(413));
  await close();
});
