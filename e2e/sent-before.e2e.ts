/** Return to a sent form, and a second attempt after a refusal. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forms } from '../src/forms/catalog.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { type Site, startSite } from './site.ts';
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

const press = (page: Page) => page.locator('form button[type=submit]').click();
const pictured = async (page: Page, name: string) => {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/${name}.png`, fullPage: true });
};

test.each([
  [360, 'light'],
  [360, 'dark'],
  [1280, 'light'],
  [1280, 'dark'],
] as const)(
  'a sent form says that it was sent, and when, if the person returns at %i px in %s',
  async (width, scheme) => {
    const how = { javaScript: true, width, scheme };
    const { page, complaints, close } = await openPage(browser, site.service.url, how);
    const form = forms.homeowner_quote;
    await page.goto('/quote');
    const plainTitle = await page.title();
    await fillIn(page, form, answersTo(form, 'ada@example.com'));
    const before = site.upstream.delivered.length;
    await press(page);
    await page.waitForURL('**/thank-you');

    for (const comeBack of [() => page.goBack(), () => page.reload()]) {
      await comeBack();
      const notice = page.locator('form > .notice');
      await notice.waitFor({ timeout: 5_000 });
      expect(await notice.innerText()).toMatch(
        /You have sent this already[\s\S]*at \d{1,2}:\d\d\s[AP]M[\s\S]*don’t need to send it again/,
      );
      expect(await notice.count()).toBe(1);
      expect(await page.title()).toBe(plainTitle);
      expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(1);
      expect(await overflowOf(page)).toBe(0);
      expect(site.upstream.delivered.length - before).toBe(1);
    }
    await pictured(page, `sent-before-${width}-${scheme}`);

    // A newly opened form does not show the notice.
    await page.goto('/');
    await page.goto('/quote');
    await page.getByRole('button', { name: 'Request my quote' }).waitFor();
    expect(await page.locator('form > .notice').count()).toBe(0);
    expect(complaints).toEqual([]);
    await close();
  },
);

test('the message about the last attempt disappears when the next attempt starts', async () => {
  const how = { javaScript: true, width: 360 };
  const { page, close } = await openPage(browser, site.service.url, how);
  const form = forms.homeowner_quote;
  await page.goto('/quote');
  const plainTitle = await page.title();
  await press(page);
  await page.getByText('Please check what you entered').waitFor({ timeout: 5_000 });
  await fillIn(page, form, answersTo(form, 'ada@example.com'));
  await page.route('**/api/leads', () => {});
  await press(page);
  await page.getByRole('button', { name: 'Sending…' }).waitFor({ timeout: 5_000 });
  expect(await page.locator('form > .notice').count()).toBe(0);
  expect(await page.title()).toBe(plainTitle);
  await pictured(page, 'sending-360-light');
  await close();
});

test('a second click on an optional answer clears the answer', async () => {
  const how = { javaScript: true, width: 360 };
  const { page, complaints, close } = await openPage(browser, site.service.url, how);
  const form = forms.homeowner_quote;
  await page.goto('/quote');
  await fillIn(page, form, answersTo(form, 'ada@example.com'));
  const first = page.getByText('Interior', { exact: true });
  const group = page.getByRole('group', { name: 'What is to be painted? (optional)' });
  expect(await group.getByLabel('Interior', { exact: true }).isChecked()).toBe(true);
  await first.click();
  expect(await group.locator(':checked').count()).toBe(0);
  await first.click();
  expect(await group.getByLabel('Interior', { exact: true }).isChecked()).toBe(true);
  await first.click();
  expect(await group.locator(':checked').count()).toBe(0);
  // By keyboard, the arrows choose and the space bar clears.
  await group.getByLabel('Interior', { exact: true }).focus();
  await page.keyboard.press('ArrowDown');
  expect(await group.getByLabel('Exterior', { exact: true }).isChecked()).toBe(true);
  await page.keyboard.press('Space');
  expect(await group.locator(':checked').count()).toBe(0);
  await press(page);
  await page.waitForURL('**/thank-you');
  expect(site.upstream.delivered.at(-1)?.event.data.fields).not.toHaveProperty('project_type');
  expect(complaints).toEqual([]);
  await close();
});

test('a refused form is not shown as sent', async () => {
  const how = { javaScript: true, width: 360 };
  const { page, close } = await openPage(browser, site.service.url, how);
  const form = forms.contact;
  await page.goto('/contact');
  await fillIn(page, form, answersTo(form, 'ada@example.com'));
  await page.route('**/api/leads', (route) => route.abort('connectionreset'));
  await press(page);
  await page.getByText('The connection was interrupted').waitFor();
  await page.goto('/');
  await page.goBack();
  await page.locator('form').waitFor();
  expect(await page.getByText('You have sent this already').count()).toBe(0);
  await close();
});
