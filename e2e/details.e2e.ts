/** Small visual faults: lines that run together, broken words and links, wasted paper. */
import { resolve } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { openBrowser, openPage } from './browser.ts';
import { type Site, startSite } from './site.ts';
import { answersTo, fillIn } from './visitor.ts';

const FACTS = {
  CONTRACTOR_PLACE: 'Dubai',
  CONTRACTOR_SINCE: '1998',
  CONTRACTOR_LICENSE: 'AE 104-12345',
  CONTRACTOR_TELEPHONE: '+971 4 555 0100',
  CONTRACTOR_LINK: 'https://painter.example',
};

let site: Site;
let german: Site;
let told: Site;
let browser: Browser;
beforeAll(async () => {
  site = await startSite();
  german = await startSite({ CONTENT_DIR: resolve(import.meta.dirname, '../examples/content-de') });
  told = await startSite(FACTS);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await german.close();
  await told.close();
});

const at = (width: number, on = site, javaScript = true) => openPage(browser, on.service.url, { javaScript, width });
/** Returns the lines of text of each element that matches. */
const linesOf = (page: Page, selector: string) =>
  page.evaluate(`[...document.querySelectorAll('${selector}')].map((each) => {
    const words = document.createRange();
    words.selectNodeContents(each);
    return [...words.getClientRects()].map(({ top, bottom }) => ({ top, bottom }));
  })`) as Promise<{ top: number; bottom: number }[][]>;
const styleOf = (page: Page, selector: string, property: string, part = '') =>
  page.evaluate(`getComputedStyle(document.querySelector('${selector}'), '${part}').${property}`) as Promise<string>;

test('links of two lines in the error summary have a gap between them', async () => {
  const { page, close } = await at(360, german);
  await page.goto('/quote');
  await page.locator('form button[type=submit]').click();
  const links = await linesOf(page, '.notice li a');
  expect(links.filter((lines) => lines.length > 1).length).toBeGreaterThan(1);
  const gap = (above: { bottom: number }, below: { top: number }) => below.top - above.bottom;
  for (const [index, lines] of links.slice(1).entries()) {
    const above = links[index] ?? [];
    const inside = gap(above[0] ?? { bottom: 0 }, above[1] ?? above[0] ?? { top: 0 });
    const between = gap(above.at(-1) ?? { bottom: 0 }, lines[0] ?? { top: 0 });
    expect(between - inside).toBeGreaterThan(6);
  }
  await close();
});

test.each([true, false])('a required checkbox is red if it has an error, with JavaScript: %s', async (javaScript) => {
  const { page, close } = await at(360, site, javaScript);
  await page.goto('/newsletter');
  if (javaScript) await page.locator('form button[type=submit]').click();
  else {
    const loaded = page.waitForEvent('load');
    await page.evaluate('void document.forms[0].submit()');
    await loaded;
  }
  await page.locator('.wrong .consent').waitFor();
  expect(await styleOf(page, '.consent input', 'borderTopColor')).toBe(await styleOf(page, '.error', 'color'));
  await close();
});

test.each([360, 1280])(
  'no link in the recipient’s line and no fact on the card breaks across lines at %i px',
  async (width) => {
    const { page, close } = await at(width, told);
    for (const form of Object.values(forms)) {
      await page.goto(pathsOfPage(form.page).path);
      const links = await linesOf(page, '.recipient a');
      expect([form.name, links.map((lines) => lines.length)]).toEqual([form.name, [1]]);
    }
    await page.goto('/');
    expect((await linesOf(page, '.chip dd bdi')).map((lines) => lines.length)).toEqual(Array(5).fill(1));
    await close();
  },
);

test('on the contractor’s card, a link is aligned with the value beside it', async () => {
  const { page, close } = await at(1280, told);
  await page.goto('/');
  const [, , licence, telephone] = await linesOf(page, '.chip dd bdi');
  const apart = (telephone?.[0]?.top ?? 0) - (licence?.[0]?.top ?? 99);
  expect(Math.abs(apart)).toBeLessThan(1);
  await close();
});

test('the footer has a distance of 40 px to the painted band of an error page', async () => {
  const { page, close } = await at(360, site, false);
  await page.goto('/contact');
  const message = 'x'.repeat(33_000);
  await fillIn(page, forms.contact, { ...answersTo(forms.contact, 'ada@example.com'), message });
  await page.locator('form button[type=submit]').click();
  const [paint, footer] = await Promise.all(['.band', '.colophon'].map((each) => page.locator(each).boundingBox()));
  // The strokes end 24 px below the band.
  const end = (paint?.y ?? 0) + (paint?.height ?? 0) + 24;
  expect((footer?.y ?? 0) - end).toBeGreaterThan(40);
  await close();
});

test('in forced colours, items of the card have no empty box, and the stripe without colour is hidden', async () => {
  const { page, close } = await at(360);
  await page.emulateMedia({ forcedColors: 'active' });
  await page.goto('/');
  const [border, size] = await Promise.all(
    ['borderTopWidth', 'height'].map((each) => styleOf(page, '.chip li', each, '::before')),
  );
  expect(Number.parseFloat(border ?? '') * 2).toBeCloseTo(Number.parseFloat(size ?? ''), 0);
  await page.goto('/thank-you');
  expect(await page.locator('.stripe').isVisible()).toBe(false);
  await close();
});

test.each(['A4', 'Letter'])('a sent form prints on one sheet of %s', async (format) => {
  const { page, close } = await at(1280);
  await page.goto('/quote');
  await fillIn(page, forms.homeowner_quote, answersTo(forms.homeowner_quote, 'ada@example.com'));
  await page.locator('form button[type=submit]').click();
  await page.waitForURL('**/thank-you');
  await page.getByText('What you sent').waitFor();
  const margin = { top: '1cm', right: '1cm', bottom: '1cm', left: '1cm' };
  const sheets = (await page.pdf({ format, margin })).toString('latin1').match(/\/Type \/Page\b/g);
  expect(sheets).toHaveLength(1);
  await close();
});

test('on paper, the icons of the steps have the colour of the text', async () => {
  const { page, close } = await at(1280);
  await page.emulateMedia({ media: 'print' });
  await page.goto('/');
  expect(
    await page.evaluate(`[...document.querySelectorAll('li .icon')].map((each) =>
    getComputedStyle(each).stroke)`),
  ).toEqual(Array(3).fill(await styleOf(page, 'body', 'color')));
  await close();
});
