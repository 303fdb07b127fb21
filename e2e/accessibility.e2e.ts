import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { breakUpstream, type Site, startSite } from './site.ts';
import { answersTo, fillIn } from './visitor.ts';

let site: Site;
let browser: Browser;
let paths: string[];

beforeAll(async () => {
  site = await startSite();
  browser = await openBrowser();
  paths = [...(await site.service.parts.pages()).map(({ path }) => path), '/reference', '/nothing-here'];
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const at = (width: number, scheme: 'light' | 'dark' = 'light') =>
  openPage(browser, site.service.url, { javaScript: true, width, scheme });
const press = (page: Page) => page.locator('form button[type=submit]').click();

describe.each(['light', 'dark'] as const)('axe has no findings in %s', (scheme) => {
  test.each(inTurn([360, 1280], 2))('on any page at %i px', async (width) => {
    const { page, close } = await at(width, scheme);
    for (const path of paths) {
      await page.goto(path);
      expect([path, await findings(page, 'AAA')]).toEqual([path, []]);
    }
    await close();
  });

  test('on a refused form, checked by the script or by the server', async () => {
    const { page, close } = await at(360, scheme);
    for (const form of Object.values(forms)) {
      await page.goto(pathsOfPage(form.page).path);
      await press(page);
      await page.locator('.notice').waitFor();
      expect([pathsOfPage(form.page).path, await findings(page, 'AAA')]).toEqual([pathsOfPage(form.page).path, []]);

      const loaded = page.waitForEvent('load');
      await page.evaluate('void document.forms[0].submit()');
      await loaded;
      expect(await page.title()).toMatch(/^Error: /);
      expect([pathsOfPage(form.page).path, await findings(page, 'AAA')]).toEqual([pathsOfPage(form.page).path, []]);
    }
    await close();
  });

  test('on messages of a form while it is filled in, sent and not delivered', async () => {
    const { page, close } = await at(360, scheme);
    const form = forms.contact;
    breakUpstream(site);
    await page.goto(pathsOfPage(form.page).path);
    const answers = { ...answersTo(form, 'ada@gmial.com'), message: 'x'.repeat(1_990) };
    await fillIn(page, form, answers);
    await page.getByRole('button', { name: 'ada@gmail.com' }).waitFor();
    expect(await findings(page, 'AAA')).toEqual([]);
    await press(page);
    await page.getByRole('heading', { name: 'We have your request' }).waitFor();
    expect(await findings(page, 'AAA')).toEqual([]);
    await page.goto(pathsOfPage(form.page).path);
    await fillIn(page, form, answers);
    await page.context().setOffline(true);
    await press(page);
    await page.getByText('You seem to be offline').waitFor();
    expect(await findings(page, 'AAA')).toEqual([]);
    site.upstream.answer = (response) => response.writeHead(200).end();
    await close();
  });
});

test('axe detects a missing label and a low contrast', async () => {
  const { page, close } = await at(360);
  await page.goto('/quote');
  await page.evaluate(`document.querySelector('label[for=field-name]').remove();
    document.querySelector('.hint').style.color = '#eee'`);
  expect((await findings(page, 'AAA')).map((each) => each.split(' ')[0]).sort()).toEqual(['color-contrast', 'label']);
  await close();
});

test('a quote can be requested by keyboard alone, with a visible focus at every step', async () => {
  const { page, complaints, close } = await at(360);
  const { keyboard } = page;
  await page.goto('/quote');
  const focused = async () => {
    const seen = (await page.evaluate(`(() => {
      const style = getComputedStyle(document.activeElement);
      const { id, textContent } = document.activeElement;
      return { id, text: textContent.trim(), outline: style.outlineStyle, width: parseFloat(style.outlineWidth) };
    })()`)) as { id: string; text: string; outline: string; width: number };
    expect([seen.id, seen.outline, seen.width >= 2]).toEqual([seen.id, 'solid', true]);
    return seen.id || seen.text;
  };
  const tab = async () => {
    await keyboard.press('Tab');
    return await focused();
  };

  expect(await tab()).toBe('Skip to the content');
  await keyboard.press('Enter');
  expect(await tab()).toBe('field-name');
  // Sent too early, the summary gets the focus and leads to the field.
  await keyboard.press('Enter');
  expect(await focused()).toMatch(/^Please check/);
  expect(await tab()).toBe('Please fill in “Full name”.');
  await keyboard.press('Enter');
  expect(await focused()).toBe('field-name');

  await keyboard.type('Ada Lovelace');
  expect(await tab()).toBe('field-email');
  await keyboard.type('ada@gmial.com');
  // The correction appears between two fields after the first one loses the focus.
  expect(await tab()).toBe('field-postal_code');
  await keyboard.press('Shift+Tab');
  expect(await focused()).toBe('ada@gmail.com');
  await keyboard.press('Enter');
  expect(await focused()).toBe('field-email');
  expect(await page.locator('#field-email').inputValue()).toBe('ada@gmail.com');
  expect(await tab()).toBe('field-postal_code');
  await keyboard.type('94110');
  expect(await tab()).toBe('field-phone');
  expect(await tab()).toBe('field-project_type-1');
  await keyboard.press('ArrowDown');
  expect(await tab()).toBe('field-timeline-1');
  await keyboard.press('Space');
  expect(await tab()).toBe('field-message');
  expect(await tab()).toBe('How we handle your details');
  expect(await tab()).toBe('Request my quote');
  await keyboard.press('Enter');
  await page.waitForURL('**/thank-you');
  expect(site.upstream.delivered.at(-1)?.event.data.fields).toEqual({
    name: 'Ada Lovelace',
    email: 'ada@gmail.com',
    postal_code: '94110',
    project_type: 'Exterior',
    timeline: 'As soon as possible',
  });
  expect(complaints).toEqual([]);
  await close();
});

/** Returns clickable elements outside of running text that are smaller than this many pixels. */
const tooSmall = (pixels: number) => `[...document.querySelectorAll(
    'a, button, input:not([type=hidden]), textarea, summary')].filter((element) => {
  const target = element.closest('.choice') ?? element;
  if (element.closest('.bot-field, .skip') || !element.checkVisibility()) return false;
  if (getComputedStyle(element).display === 'inline') return false;
  const { width, height } = target.getBoundingClientRect();
  return Math.min(width, height) < ${pixels} - 0.5;
}).map((element) => element.outerHTML.slice(0, 80))`;

test('clickable elements are at least 44 pixels large on every page', async () => {
  const { page, close } = await at(360);
  for (const path of paths) {
    await page.goto(path);
    expect([path, await page.evaluate(tooSmall(44))]).toEqual([path, []]);
  }
  await page.goto('/quote');
  await press(page);
  await page.locator('.notice').waitFor();
  expect(await page.evaluate(tooSmall(44))).toEqual([]);
  await close();
});

/** Returns elements beyond the window or clipped by their parent. Scrollable parts may overflow. */
const cutOff = `[...document.querySelectorAll('body *')].filter((element) => {
  if (!element.checkVisibility() || element.closest('.unseen, .skip, .bot-field')) return false;
  const { overflowX } = getComputedStyle(element);
  const hides = /hidden|clip/.test(overflowX) && element.scrollWidth > element.clientWidth + 1;
  if (element.parentElement.closest('.scroll, pre')) return hides;
  const { left, right } = element.getBoundingClientRect();
  return hides || left < -0.5 || right > innerWidth + 0.5;
}).map((element) => element.outerHTML.slice(0, 80))`;

test('at 320 pixels (1280 at 400 % zoom), no content is cut off or scrolls sideways', async () => {
  const { page, close } = await at(320);
  for (const path of paths) {
    await page.goto(path);
    expect([path, await overflowOf(page), await page.evaluate(cutOff)]).toEqual([path, 0, []]);
  }
  await close();
});

/**
 * Returns Tab stops above the previous one, before it in the same line, or with a positive tabindex. The copy button
 * is excluded, because it is in the corner of its code, beside any number of lines of tabs.
 */
const outOfOrder = `(() => {
  const stops = [...document.querySelectorAll('a, button, input, textarea, summary, [tabindex]')].filter(
    (element) => element.tabIndex >= 0 && element.checkVisibility() && !element.closest('.skip, .copy'));
  const boxes = stops.map((element) => element.getClientRects()[0]);
  return stops.filter((element, index) => {
    const [before, own] = [boxes[index - 1] ?? boxes[0], boxes[index]];
    const isAbove = own.bottom <= before.top;
    const isInLine = own.top < before.bottom && own.bottom > before.top;
    return element.tabIndex > 0 || isAbove || (isInLine && own.right <= before.left);
  }).map((element) => element.outerHTML.slice(0, 80));
})()`;

test('the Tab key follows the reading order on every page', async () => {
  const { page, close } = await at(360);
  for (const path of paths) {
    await page.goto(path);
    expect([path, await page.evaluate(outOfOrder)]).toEqual([path, []]);
  }
  await close();
});

test.each(['light', 'dark'] as const)('in forced colours, a chosen option is visible in %s', async (scheme) => {
  const { page, close } = await at(360, scheme);
  await page.emulateMedia({ forcedColors: 'active', colorScheme: scheme });
  for (const [path, selector] of [
    ['/quote', 'input[type=radio]'],
    ['/newsletter', 'input[type=checkbox]'],
  ] as const) {
    await page.goto(path);
    const input = page.locator(selector).first();
    const before = await input.screenshot();
    // A click would also bring the focus with its ring.
    await page.evaluate(`document.querySelector('${selector}').checked = true`);
    expect([path, (await input.screenshot()).equals(before)]).toEqual([path, false]);
  }
  await close();
});

test('on paper, every page shows its text and form fields in dark ink', async () => {
  const { page, close } = await at(800);
  for (const path of paths) {
    await page.emulateMedia({ media: 'screen' });
    await page.goto(path);
    await page.evaluate(`window.read = [...document.querySelectorAll(
      'main :is(h1, h2, h3, p, li, dt, dd, td, th, pre, label, legend, input, textarea)')].filter((element) =>
      element.checkVisibility() && !element.closest('.actions, .contents, .tabs, .bot-field, .chip ul'))`);
    await page.emulateMedia({ media: 'print' });
    const lost = `window.read.filter((element) => !element.checkVisibility())
      .map((element) => element.outerHTML.slice(0, 80))`;
    expect([path, await page.evaluate(lost)]).toEqual([path, []]);
    // A printer omits the background.
    const light = `window.read.filter((element) =>
      Math.min(...getComputedStyle(element).color.match(/[\\d.]+/g).slice(0, 3).map(Number)) > 140)
      .map((element) => element.outerHTML.slice(0, 80))`;
    expect([path, await page.evaluate(light)]).toEqual([path, []]);
  }
  await close();
});

test('nothing on a page moves', async () => {
  const { page, close } = await at(1280);
  for (const path of paths) {
    await page.goto(path);
    const moving = `[...document.querySelectorAll('*')].filter((element) => {
      const { animationName, transitionDuration } = getComputedStyle(element);
      return animationName !== 'none' || transitionDuration !== '0s';
    }).length`;
    expect([path, await page.evaluate(moving)]).toEqual([path, 0]);
  }
  await close();
});
