/** The content before the form: the painted opening, the contractor, the steps and the questions. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { forms } from '../src/forms/catalog.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf, type Surroundings } from './browser.ts';
import { exhaust, type Site, startSite } from './site.ts';
import { surroundingsInTurn } from './surroundings.ts';
import { answersTo, fillIn } from './visitor.ts';

const FACTS = {
  CONTRACTOR_PLACE: 'Springfield, Illinois',
  CONTRACTOR_SINCE: '1998',
  CONTRACTOR_LICENSE: '104-12345 of the State Contractors Licensing and Registration Board',
  CONTRACTOR_INSURED: 'General liability, 2,000,000 USD',
  CONTRACTOR_CHECKED: 'License and insurance seen in March 2026',
  CONTRACTOR_TELEPHONE: '+1 555 0100',
  CONTRACTOR_LINK: 'https://donaudampfschifffahrtsanstrichsunternehmensgesellschaft.example',
};

let site: Site;
let told: Site;
let browser: Browser;
beforeAll(async () => {
  site = await startSite();
  told = await startSite(FACTS);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await told.close();
});

const pictured = async (page: Page, name: string) => {
  const pictures = process.env.SCREENSHOTS;
  if (pictures) await page.screenshot({ path: `${pictures}/front-${name}.png`, fullPage: true });
};
/** Returns red, green and blue of a colour as CSS computed it, from 0 to 1. */
const channels = (colour: string): number[] => {
  const numbers = (colour.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);
  return colour.startsWith('rgb') ? numbers.map((each) => each / 255) : numbers;
};
/** Returns the relative luminance of WCAG 2.2. */
const luminance = (colour: string) => {
  const [red = 0, green = 0, blue = 0] = channels(colour).map((each) =>
    each <= 0.04045 ? each / 12.92 : ((each + 0.055) / 1.055) ** 2.4,
  );
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
};

describe.each(surroundingsInTurn)('start page and quote page, %s', (_name, how: Surroundings) => {
  test('the contractor’s card shows every fact, and a click on a question shows its answer', async () => {
    const { page, complaints, close } = await openPage(browser, told.service.url, how);
    for (const path of ['/', '/quote']) {
      await page.goto(path);
      const card = page.getByRole('region', { name: 'Your request goes to Vetted Painters' });
      expect(await card.locator('dt').count()).toBe(7);
      expect(await overflowOf(page)).toBe(0);
      if (how.javaScript) expect(await findings(page, 'AAA')).toEqual([]);
      await pictured(page, `facts${path.replace('/', '-')}-${how.width}-${how.scheme}-${how.javaScript}`);
    }
    await page.goto('/');
    const answer = page.getByText('Asking costs nothing');
    expect(await answer.isVisible()).toBe(false);
    await page.getByText('What does it cost?').click();
    expect(await answer.isVisible()).toBe(true);
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.getByText('Vetted Painters, to call you about this job').isVisible()).toBe(true);
    if (how.javaScript) expect(await findings(page, 'AAA')).toEqual([]);
    await pictured(page, `open-${how.width}-${how.scheme}-${how.javaScript}`);
    await page.emulateMedia({ media: 'print' });
    expect(await page.getByText('Allow two working days and check').isVisible()).toBe(true);
    expect(complaints).toEqual([]);
    await close();
  });
});

test.each(['light', 'dark'] as const)(
  'text on the painted band has a contrast of 7:1 in %s, and the band fills the width',
  async (scheme) => {
    const opened = await openPage(browser, site.service.url, {
      javaScript: false,
      width: 1280,
      scheme,
    });
    for (const path of ['/', '/quote', '/privacy', '/nothing-here']) {
      await opened.page.goto(path);
      const styles = (await opened.page.evaluate(`(() => {
        const band = document.querySelector('.band');
        const { width, left } = band.getBoundingClientRect();
        const texts = ['h1', '.lede', '.quiet'].flatMap((name) => band.querySelector(name) ?? []);
        return { paint: getComputedStyle(band).backgroundColor, sides: [left, width],
          inks: texts.map((each) => getComputedStyle(each).color) };
      })()`)) as { paint: string; sides: number[]; inks: string[] };
      expect(styles.sides).toEqual([0, 1280]);
      // The streaks are darker than the paint, and the text is lighter.
      for (const ink of styles.inks) {
        const ratio = (luminance(ink) + 0.05) / (luminance(styles.paint) + 0.05);
        expect(ratio, `${path} ${ink} on ${styles.paint}`).toBeGreaterThanOrEqual(7);
      }
    }
    await opened.close();
  },
);

test('the contractor’s card stays visible beside a long form', async () => {
  const { page, close } = await openPage(browser, site.service.url, {
    javaScript: false,
    width: 1280,
  });
  await page.goto('/quote');
  await page.setViewportSize({ width: 1280, height: 500 });
  const topOf = async () => (await page.locator('.chip').boundingBox())?.y ?? -1;
  await page.getByRole('button', { name: 'Request my quote' }).scrollIntoViewIfNeeded();
  await page.evaluate('scrollTo(0, document.querySelector("form .button").offsetTop - 420)');
  expect(await topOf()).toBeGreaterThanOrEqual(0);
  expect(await topOf()).toBeLessThan(60);
  await close();
});

test('the message about a rate limit states the time of day at which the limit ends', async () => {
  const { page, close } = await openPage(browser, site.service.url, {
    javaScript: true,
    width: 360,
  });
  await exhaust(site, '192.0.2.41');
  await page.setExtraHTTPHeaders({ 'x-forwarded-for': '192.0.2.41' });
  await page.goto('/contact');
  await fillIn(page, forms.contact, answersTo(forms.contact, 'ada@example.com'));
  await page.locator('form button[type=submit]').click();
  const notice = page.locator('form > .notice');
  await notice.waitFor();
  // Shortly before midnight, it states the day as well.
  expect(await notice.innerText()).toMatch(
    /send it again in 15 minutes \((?:\w+ \d+, \d{4} at )?\d{1,2}:\d\d\s[AP]M\)\./,
  );
  await close();
});

test('in forced colours, the painted band, the card and the success panel have a border', async () => {
  const { page, close } = await openPage(browser, site.service.url, {
    javaScript: true,
    width: 360,
  });
  await page.emulateMedia({ forcedColors: 'active' });
  for (const [path, selector] of [
    ['/', '.band'],
    ['/', '.chip'],
    ['/thank-you', '.success'],
  ] as const) {
    await page.goto(path);
    const edge = await page.evaluate(`getComputedStyle(document.querySelector('${selector}')).borderBlockStartWidth`);
    expect([selector, edge]).toEqual([selector, '1px']);
    const strokes = await page.evaluate(
      `[...document.querySelectorAll('.icon')].map((icon) => getComputedStyle(icon).stroke)`,
    );
    expect(new Set(strokes as string[]).size).toBeLessThanOrEqual(1);
    await pictured(page, `forced-${selector.slice(1)}`);
  }
  await close();
});
