/** A deployment that can't accept forms yet says so before anybody types. */
import axe from 'axe-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { CONTACT, type Site, startSite } from './site.ts';

let site: Site;
let browser: Browser;

beforeAll(async () => {
  site = await startSite({ UPSTREAM_URL: '' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

test.each([
  [360, 'light'],
  [360, 'dark'],
  [1280, 'light'],
  [1280, 'dark'],
] as const)('every form page shows a closed notice without an upstream, at %i px in %s', async (width, scheme) => {
  const how = { javaScript: true, width, scheme };
  const { page, complaints, close } = await openPage(browser, site.service.url, how);
  for (const form of Object.values(forms)) {
    await page.goto(pathsOfPage(form.page).path);
    expect(await page.locator('main').innerText()).toContain('This form is closed for now');
    expect(await page.locator('main :is(input, textarea, button)').count()).toBe(0);
    expect(await page.locator('.notice a').getAttribute('href')).toBe(`mailto:${CONTACT}`);
    expect(await overflowOf(page)).toBe(0);
  }
  const folder = process.env.SCREENSHOTS;
  const path = `${folder}/closed-${width}-${scheme}.png`;
  if (folder) await page.screenshot({ path, fullPage: true });
  await page.evaluate(axe.source);
  expect(await page.evaluate('axe.run().then(({ violations }) => violations)')).toEqual([]);
  await page.goto('/agents');
  await page.getByText('Actions are switched off here').waitFor({ timeout: 5_000 });
  expect(complaints).toEqual([]);
  await close();
});
