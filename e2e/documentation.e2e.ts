/** The pages for developers: contents, tabs and answers without a script, and the additions of a script. */
import { readFileSync } from 'node:fs';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { type Site, startSite } from './site.ts';
import { surroundingsInTurn } from './surroundings.ts';

const paths = ['/agents', '/reference', '/receivers', '/receipts', '/embed'];

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

const at = (width: number, javaScript = true, scheme: 'light' | 'dark' = 'light') =>
  openPage(browser, site.service.url, { javaScript, width, scheme });
const contents = (page: Page) => page.getByRole('navigation', { name: 'On this page' });
/** Returns the example of the preview, the first one in Python. */
const preview = (page: Page) => page.locator('.example:has(.tabs)', { hasText: 'Python' }).first();

test.each(surroundingsInTurn)('no page overflows or causes browser errors at %s', async (_, how) => {
  const { page, complaints, close } = await openPage(browser, site.service.url, how);
  for (const path of paths) {
    await page.goto(path);
    expect([path, await overflowOf(page)]).toEqual([path, 0]);
  }
  expect(complaints).toEqual([]);
  await close();
});

test('the painted band has the full width, and its text is aligned with the page', async () => {
  const { page, close } = await at(1280);
  for (const path of paths) {
    await page.goto(path);
    const leftOf = async (selector: string) =>
      Math.round((await page.locator(selector).first().boundingBox())?.x ?? Number.NaN);
    expect((await page.locator('.band').boundingBox())?.width).toBe(1280);
    const brand = await leftOf('.brand');
    expect([await leftOf('h1'), await leftOf('nav.contents')]).toEqual([brand, brand]);
  }
  await close();
});

describe('contents', () => {
  test.each([true, false])('stay visible beside the text of a wide page, with JavaScript: %s', async (script) => {
    const { page, close } = await at(1280, script);
    for (const path of paths) {
      await page.goto(path);
      const links = contents(page).getByRole('link');
      const named = await page.locator('.prose h2').allInnerTexts();
      for (const name of named) {
        const text = name.replace(/ #$/, '');
        expect(await links.filter({ hasText: text }).count(), `${path} ${text}`).toBeGreaterThan(0);
      }
      await links.last().click();
      const [side, text] = [await contents(page).boundingBox(), await page.locator('.prose').boundingBox()];
      expect(side?.y).toBeGreaterThanOrEqual(0);
      expect((side?.x ?? 0) + (side?.width ?? 0)).toBeLessThan(text?.x ?? 0);
    }
    await close();
  });

  test('leave space for an overlay scrollbar', async () => {
    const { page, close } = await at(1280);
    await page.goto('/reference');
    const room = await page.evaluate(
      `parseFloat(getComputedStyle(document.querySelector('.contents')).paddingInlineEnd)`,
    );
    // An overlay scrollbar of Firefox and WebKit is about 12 pixels wide.
    expect(room).toBeGreaterThanOrEqual(12);
    await close();
  });

  test('are folded on a phone and open without a script', async () => {
    const { page, close } = await at(360, false);
    for (const path of paths) {
      await page.goto(path);
      const link = contents(page).getByRole('link').first();
      expect(await link.isVisible()).toBe(false);
      await contents(page).locator('summary').click();
      expect(await link.isVisible()).toBe(true);
      const target = new URL((await link.getAttribute('href')) ?? '', page.url()).hash;
      await link.click();
      expect(new URL(page.url()).hash).toBe(target);
    }
    await close();
  });

  test('mark the section that is being read', async () => {
    const { page, close } = await at(1280);
    await page.goto('/reference#get-the-agent-manifest');
    const current = contents(page).locator('[aria-current=true]:visible');
    await expect.poll(() => current.allInnerTexts()).toEqual(['Get the agent manifest']);
    // It is visible, even in a list that is longer than the window.
    const box = await current.boundingBox();
    expect((box?.y ?? -1) >= 0 && (box?.y ?? 901) < 900).toBe(true);
    await page.goto('/reference#records');
    await expect.poll(() => current.allInnerTexts()).toEqual(['Records']);
    await close();
  });
});

test.each([320, 360])('the list of calls breaks no path inside a word at %i px', async (width) => {
  const { page, close } = await at(width);
  await page.goto('/reference');
  const calls = page.locator('.prose table').first().locator('td:first-child code');
  const lines = await calls.evaluateAll((all) => all.map((call) => call.getClientRects().length));
  expect(lines.length).toBeGreaterThan(5);
  // At most one break, between the method and the path.
  expect(Math.max(...lines)).toBeLessThanOrEqual(2);
  await close();
});

describe('tabs of an example', () => {
  test.each([true, false])('show one language and work by keyboard, with JavaScript: %s', async (script) => {
    const { page, close } = await at(1280, script);
    await page.goto('/agents');
    const group = preview(page).getByRole('group', { name: 'Language' });
    const radios = group.getByRole('radio');
    expect(await radios.count()).toBe(3);
    const visible = preview(page).locator('.tabs .code:visible');
    expect(await visible.count()).toBe(1);
    expect(await visible.innerText()).toContain('curl -sS');
    await group.getByRole('radio', { name: 'curl' }).focus();
    await page.keyboard.press('ArrowRight');
    expect(await group.getByRole('radio', { name: 'JavaScript' }).isChecked()).toBe(true);
    expect(await visible.innerText()).toContain('await post(');
    const ring = `getComputedStyle(document.activeElement.closest('.tab')).outlineStyle`;
    expect(await page.evaluate(ring)).toBe('solid');
    // The answer is the same in every language and stays visible.
    expect(await preview(page).locator('.answer:visible').count()).toBe(1);
    await close();
  });

  test('switch all examples to one language with a script, and the page does not jump', async () => {
    const { page, close } = await at(1280);
    await page.goto('/agents');
    const later = page.locator('.tabs', { hasText: 'Python' }).nth(1);
    const tab = later.getByRole('radio', { name: 'Python' });
    await tab.scrollIntoViewIfNeeded();
    const before = (await tab.boundingBox())?.y ?? 0;
    await tab.check();
    expect(await preview(page).getByRole('radio', { name: 'Python' }).isChecked()).toBe(true);
    expect(Math.abs(((await tab.boundingBox())?.y ?? 0) - before)).toBeLessThan(2);
    await close();
  });

  test('are all printed completely, each under its name', async () => {
    const { page, close } = await at(1280);
    await page.goto('/agents');
    await page.emulateMedia({ media: 'print' });
    expect(await preview(page).locator('.code:visible').count()).toBe(4);
    const captions = await preview(page).locator('figcaption:visible').allInnerTexts();
    expect(captions.map((text) => text.replace(/\s+/g, ' '))).toEqual(['curl', 'JavaScript', 'Python', 'Answer 200']);
    expect(await page.locator('.copy:visible, .contents:visible').count()).toBe(0);
    const cut = `[...document.querySelectorAll('pre')].filter(
      ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth + 1).length`;
    expect(await page.evaluate(cut)).toBe(0);
    await close();
  });
});

describe('copy button', () => {
  test('is absent without a script', async () => {
    const { page, close } = await at(1280, false);
    await page.goto('/agents');
    expect(await page.locator('button').count()).toBe(0);
    await close();
  });

  test('copies the exact code by keyboard and confirms it', async () => {
    const { page, complaints, close } = await at(360);
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await page.goto('/agents');
    const button = preview(page).getByRole('button', { name: 'Copy curl' });
    await button.focus();
    await page.keyboard.press('Enter');
    await expect.poll(() => page.getByRole('status').innerText()).toBe('Copied');
    expect(await button.or(preview(page).getByRole('button', { name: 'Copied curl' })).count()).toBe(1);
    const copied = String(await page.evaluate('navigator.clipboard.readText()'));
    expect(copied).toMatch(/^PREVIEW=\$\(curl -sS http[\s\S]*echo "\$PREVIEW"\n$/);
    const box = await preview(page).locator('.copy:visible').first().boundingBox();
    expect(Math.min(box?.width ?? 0, box?.height ?? 0)).toBeGreaterThanOrEqual(44);
    expect(complaints).toEqual([]);
    await close();
  });

  test('selects the code if the browser allows no access to the clipboard', async () => {
    const { page, complaints, close } = await at(1280);
    await page.addInitScript({
      content: `Object.defineProperty(navigator, 'clipboard', { value: undefined });
        document.execCommand = () => false;`,
    });
    await page.goto('/receivers');
    await page.getByRole('button', { name: 'Copy Node' }).click();
    await expect.poll(() => page.getByRole('status').innerText()).toBe('The text is selected, so that you can copy it');
    expect(String(await page.evaluate('getSelection().toString()'))).toContain('isSigned');
    expect(complaints).toEqual([]);
    await close();
  });
});

test.each(['light', 'dark'] as const)('code has AAA contrast in %s', async (scheme) => {
  const { page, close } = await at(1280, true, scheme);
  for (const path of paths) {
    await page.goto(path);
    const worst = `(() => {
      const channels = (colour) => colour.match(/[\\d.]+/g).slice(0, 3).map(Number);
      const luminance = (colour) => {
        const [r, g, b] = channels(colour).map((each) => {
          const part = each / 255;
          return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
        });
        return 0.2126 * r + 0.7152 * g + 0.0722 * b;
      };
      const under = (element) => {
        for (let each = element; each; each = each.parentElement) {
          const { backgroundColor } = getComputedStyle(each);
          if (!/, 0\\)$|transparent/.test(backgroundColor)) return backgroundColor;
        }
      };
      const parts = [...document.querySelectorAll('pre code, pre span, .method, .status, .copy, figcaption')];
      return Math.min(...parts.map((each) => {
        const [one, other] = [getComputedStyle(each).color, under(each)].map(luminance);
        return (Math.max(one, other) + 0.05) / (Math.min(one, other) + 0.05);
      }));
    })()`;
    expect([path, Number(await page.evaluate(worst)) >= 7]).toEqual([path, true]);
  }
  await close();
});

test('in forced colours, an example has a border and the chosen tab a mark', async () => {
  const { page, close } = await at(1280);
  await page.emulateMedia({ forcedColors: 'active' });
  await page.goto('/agents');
  const style = (selector: string, property: string) =>
    page.evaluate(`getComputedStyle(document.querySelector('${selector}')).${property}`);
  expect(await style('.example', 'borderBlockStartStyle')).toBe('solid');
  expect(await style('.tab :checked + label', 'textDecorationLine')).toBe('underline');
  await close();
});

test('the script of the copy button contains none of the button’s texts', () => {
  const script = readFileSync(new URL('../src/site/assets/copy.js', import.meta.url), 'utf8');
  expect(script).not.toMatch(/'(Copy|Copied)'/);
});
