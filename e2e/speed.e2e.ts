import type { Browser, Response } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBrowser, openPage } from './browser.ts';
import { type Site, startSite } from './site.ts';

/** Compressed sizes in bytes. The API reference has a row for each error code. */
const PAGE_MAXIMUM = 20_000;
const REFERENCE_MAXIMUM = 26_000;
const SCRIPT_MAXIMUM = 5_500;

type Measured = {
  page: string;
  requests: number;
  total: number;
  html: number;
  js: number;
  'first paint (ms)': number;
  'layout shift': number;
};

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

const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0);

/** Loads a page for the first time and measures the bodies as they came over the wire. */
async function measure(path: string): Promise<Measured> {
  const how = { javaScript: true, width: 360 };
  const { page, complaints, close } = await openPage(browser, site.service.url, how);
  const responses: Response[] = [];
  page.on('response', (response) => responses.push(response));
  await page.addInitScript({
    content: `window.shifted = 0; new PerformanceObserver((list) => {
      for (const { value } of list.getEntries()) window.shifted += value;
    }).observe({ type: 'layout-shift', buffered: true });`,
  });
  await page.goto(path, { waitUntil: 'networkidle' });
  const sizes = await Promise.all(
    responses.map(async (response) => ({
      type: response.request().resourceType(),
      // For responses from Chromium's own cache, the size is negative.
      bytes: Math.max(0, (await response.request().sizes()).responseBodySize),
      encoding: await response.headerValue('content-encoding'),
    })),
  );
  for (const { bytes, encoding } of sizes) if (bytes > 1_000) expect(encoding).toMatch(/br|gzip/);
  const of = (type: string) => sum(sizes.filter((each) => each.type === type).map(({ bytes }) => bytes));
  // On a busy machine, a loaded page may not be painted yet.
  const paint = `performance.getEntriesByName('first-paint')[0]?.startTime ?? 0`;
  await expect.poll(async () => Number(await page.evaluate(paint)), { timeout: 10_000 }).toBeGreaterThan(0);
  const measured = {
    page: path,
    // Chromium requests the icon again from its cache.
    requests: new Set(responses.map((response) => response.url())).size,
    total: sum(sizes.map(({ bytes }) => bytes)),
    html: of('document'),
    js: of('script'),
    'first paint (ms)': Math.round(Number(await page.evaluate(paint))),
    'layout shift': Number(await page.evaluate('window.shifted')),
  };
  expect(complaints).toEqual([]);
  await close();
  return measured;
}

/** Measures up to three loads. On a busy machine the browser may paint a page before its last part has arrived. */
async function measureWithoutShift(path: string): Promise<Measured> {
  let measured = await measure(path);
  for (let again = 0; again < 2 && measured['layout shift'] > 0; again += 1) measured = await measure(path);
  return measured;
}

test('every page is small, needs at most three requests and does not shift', async () => {
  const table: Measured[] = [];
  await measure('/');
  const pages = await site.service.parts.pages();
  for (const { path } of [...pages, { path: '/reference' }]) {
    const measured = await measureWithoutShift(path);
    table.push(measured);
    expect(measured.total, path).toBeLessThan(path === '/reference' ? REFERENCE_MAXIMUM : PAGE_MAXIMUM);
    expect(measured.js, path).toBeLessThan(SCRIPT_MAXIMUM);
    // The page, the icon, and a script if there is a form, a table or a command.
    expect(measured.requests, path).toBeLessThanOrEqual(3);
    expect(measured['layout shift'], path).toBe(0);
  }
  console.table(table);
});

test('linked assets are cached for a year as immutable', async () => {
  const { page, close } = await openPage(browser, site.service.url, {
    javaScript: true,
    width: 360,
  });
  const kept: (string | null)[] = [];
  page.on('response', async (response) => {
    if (response.url().includes('/assets/')) kept.push(await response.headerValue('cache-control'));
  });
  await page.goto('/quote', { waitUntil: 'networkidle' });
  expect(new Set(kept)).toEqual(new Set(['public, max-age=31536000, immutable']));
  await close();
});
