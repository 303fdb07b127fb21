/** Layout under unusual conditions: other scripts, long names, forced colours, a keyboard. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sizeOfPng } from '../src/site/assets.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { type Site, startSite } from './site.ts';

const LONG_NAME = 'Donaudampfschifffahrtsanstrichsunternehmensgesell';

let site: Site;
let arabic: Site;
let browser: Browser;
let folder: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'content-ar-'));
  writeFileSync(join(folder, 'words.yaml'), 'lang: ar\n');
  writeFileSync(
    join(folder, 'contact.md'),
    '---\ntitle: اتصل بنا\ndescription: اكتب إلينا.\norder: 4\nform: contact\nsubmit: أرسل\nuse: للرد\n---\n\n## ماذا يحدث بعد ذلك؟\n\nنقرأ رسالتك.\n',
  );
  writeFileSync(
    join(folder, 'index.md'),
    '---\ntitle: اطلب عرضًا\ndescription: عرض واحد.\norder: 1\n---\n\n1. {{icon_form}}**أنت تصف العمل.**\n2. {{icon_house}}**مقاول واحد.**\n',
  );
  site = await startSite({ CONTRACTOR_NAME: LONG_NAME, OPERATOR_CONTACT: '' });
  arabic = await startSite({ CONTENT_DIR: folder });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await arabic.close();
  rmSync(folder, { recursive: true, force: true });
});

const schemes = ['light', 'dark'] as const;
const at = (width: number, scheme: 'light' | 'dark' = 'light', on = site) =>
  openPage(browser, on.service.url, { javaScript: true, width, scheme });
const pictured = async (page: Page, name: string) => {
  const pictures = process.env.SCREENSHOTS;
  if (pictures) await page.screenshot({ path: `${pictures}/${name}.png`, fullPage: true });
};
/** Returns a computed style of the first element that matches. */
const styleOf = (page: Page, selector: string, property: string, part = '') =>
  page.evaluate(`getComputedStyle(document.querySelector('${selector}'), '${part}').${property}`) as Promise<string>;
/** Returns the left and right edge of an element. */
const boxOf = async (page: Page, selector: string) => {
  const box = await page.locator(selector).first().boundingBox();
  return { left: box?.x ?? 0, right: (box?.x ?? 0) + (box?.width ?? 0) };
};

test.each([360, 1280])('a page in Arabic is laid out from right to left at %i px', async (width) => {
  for (const scheme of schemes) {
    const { page, complaints, close } = await at(width, scheme, arabic);
    await page.goto('/contact');
    const [brand, nav] = [await boxOf(page, '.brand'), await boxOf(page, 'header nav')];
    expect(brand.right).toBeGreaterThan(nav.right - 1);
    expect(brand.right).toBeGreaterThan(width * 0.85);
    expect(await styleOf(page, 'h1', 'direction')).toBe('rtl');
    // Typed text has the direction of its own letters.
    const subject = page.locator('#field-subject');
    for (const [typed, way] of [
      ['مرحبا', 'rtl'],
      ['Hello', 'ltr'],
    ] as const) {
      await subject.fill(typed);
      expect(await styleOf(page, '#field-subject', 'direction')).toBe(way);
    }
    expect(await overflowOf(page)).toBe(0);
    await pictured(page, `arabic-${width}-${scheme}`);
    // Our pages stay English and keep their direction.
    await page.goto('/privacy');
    expect(await styleOf(page, 'h1', 'direction')).toBe('ltr');
    expect(complaints).toEqual([]);
    await close();
  }
});

test('an icon with an arrow is mirrored on a page from right to left', async () => {
  const scaleOf = async (on: Site, path: string, selector: string) => {
    const { page, close } = await at(360, 'light', on);
    await page.goto(path);
    await pictured(page, `icons-${on === arabic ? 'arabic' : 'english'}`);
    const scale = await styleOf(page, selector, 'scale');
    await close();
    return scale;
  };
  expect(await scaleOf(arabic, '/', 'ol li:nth-child(2) .icon')).toBe('-1 1');
  expect(await scaleOf(site, '/', 'ol li:nth-child(2) .icon')).toBe('none');
});

test.each([360, 1280])('no page is wider than the window at %i px if a name is one long word', async (width) => {
  for (const scheme of schemes) {
    const { page, close } = await at(width, scheme);
    for (const path of ['/', '/quote', '/thank-you', '/agents', '/privacy']) {
      await page.goto(path);
      expect([path, await overflowOf(page)]).toEqual([path, 0]);
      if (path === '/quote') await pictured(page, `long-name-${width}-${scheme}`);
    }
    // If a browser can hyphenate the language, a title breaks with a hyphen.
    expect(await styleOf(page, 'h1', 'hyphens')).toBe('auto');
    await close();
  }
});

test.each([360, 1280])(
  'the button of an error page looks like the button of the start page, at %i px',
  async (width) => {
    for (const scheme of schemes) {
      const { page, close } = await at(width, scheme);
      const measure = async (path: string) => {
        await page.goto(path);
        await pictured(page, `button${path.replace('/', '-')}-${width}-${scheme}`);
        return await page.evaluate(`(() => {
          const button = document.querySelector('.actions .button');
          const words = document.createRange();
          words.selectNodeContents(button);
          const [text, box] = [words.getBoundingClientRect(), button.getBoundingClientRect()];
          const { marginTop, paddingTop } = getComputedStyle(button);
          const off = Math.abs(text.top - box.top - (box.bottom - text.bottom)) > 1.5;
          return { off, marginTop, paddingTop };
        })()`);
      };
      const onError = await measure('/nothing-here');
      expect(onError).toEqual(await measure('/'));
      expect(onError).toMatchObject({ off: false });
      await close();
    }
  },
);

test.each(schemes)('pages name an icon for phones and the colour of the browser’s bars in %s', async (scheme) => {
  const { page, complaints, close } = await at(360, scheme);
  await page.goto('/');
  const tile = await page.request.get(
    (await page.locator('link[rel=apple-touch-icon]').getAttribute('href', { timeout: 5_000 })) ?? '',
  );
  expect([tile.status(), sizeOfPng(await tile.body())]).toEqual([200, { width: 180, height: 180 }]);
  const colour = await page.evaluate(`(() => {
    const probe = document.createElement('i');
    probe.style.color = [...document.querySelectorAll('meta[name=theme-color]')]
      .find(({ media }) => matchMedia(media).matches).content;
    document.body.append(probe);
    return getComputedStyle(probe).color;
  })()`);
  expect(colour).toBe(await styleOf(page, 'body', 'backgroundColor'));
  expect(complaints).toEqual([]);
  await close();
});

describe('Tab key', () => {
  const scrolling = `[...document.querySelectorAll('.scroll, pre')].filter(
    ({ scrollWidth, clientWidth }) => scrollWidth > clientWidth)`;
  const stops = `[...document.querySelectorAll('.scroll[tabindex], pre[tabindex]')]`;
  const same = `JSON.stringify(${stops}.map((each) => each.outerHTML)) ===
    JSON.stringify(${scrolling}.map((each) => each.outerHTML))`;

  test('stops at a table or a command only if it scrolls', async () => {
    const { page, complaints, close } = await at(1280);
    await page.goto('/reference');
    await expect.poll(() => page.evaluate(same), { timeout: 5_000 }).toBe(true);
    expect(await page.locator('.scroll[role=group]').count()).toBe(
      Number(await page.evaluate(`${stops}.filter((each) => each.matches('.scroll')).length`)),
    );
    expect(await page.evaluate(`${stops}.length`)).toBeLessThan(15);
    await page.setViewportSize({ width: 320, height: 800 });
    await expect.poll(() => page.evaluate(same), { timeout: 5_000 }).toBe(true);
    expect(await page.evaluate(`${stops}.length`)).toBeGreaterThan(5);
    // Each is labelled by its heading. The overview has only the title above it, so it has a label of its own.
    const names = await page.evaluate(`[...document.querySelectorAll('.scroll[tabindex]')].map((each) =>
      document.getElementById(each.getAttribute('aria-labelledby'))?.matches('h2, h3') ??
        (each.hasAttribute('aria-label') && each === document.querySelector('.scroll')))`);
    expect(new Set(names as boolean[])).toEqual(new Set([true]));
    expect(complaints).toEqual([]);
    await close();
  });

  test('stops at every scrollable table when JavaScript is off', async () => {
    const how = { javaScript: false, width: 360 };
    const { page, close } = await openPage(browser, site.service.url, how);
    await page.goto('/agents');
    expect(await page.locator('.scroll[tabindex="0"][role=group][aria-labelledby]').count()).toBe(
      await page.locator('.scroll').count(),
    );
    await close();
  });
});

test.each([360, 1280])('the footer has a row for developers at %i px', async (width) => {
  for (const scheme of schemes) {
    const { page, close } = await at(width, scheme);
    await page.goto('/');
    const row = page.getByRole('navigation', { name: 'For developers' });
    expect(await row.getByRole('link').allInnerTexts()).toEqual([
      'For AI assistants',
      'API reference',
      'Errors',
      'For receivers',
      'Receipts',
      'Forms on your own site',
      'This page as Markdown',
    ]);
    expect(await overflowOf(page)).toBe(0);
    await pictured(page, `start-${width}-${scheme}`);
    await close();
  }
});

test('in forced colours, the cards of the start page and of a form have a border', async () => {
  for (const scheme of schemes) {
    for (const width of [360, 1280]) {
      const { page, close } = await at(width, scheme);
      await page.emulateMedia({ forcedColors: 'active', colorScheme: scheme });
      for (const [path, selector] of [
        ['/', '.page-index ol li'],
        ['/quote', '.form'],
      ] as const) {
        await page.goto(path);
        const border = await styleOf(page, selector, 'borderBlockStartWidth');
        expect([path, border]).toEqual([path, '1px']);
        await pictured(page, `forced${path.replace('/', '-')}-${width}-${scheme}`);
      }
      await page.goto('/');
      const head = await styleOf(page, '.page-index ol li', 'blockSize', '::before');
      expect(Number.parseFloat(head)).toBeLessThan(60);
      await close();
    }
  }
});
