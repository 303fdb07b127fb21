/** An operator's work with 300 leads, on a phone and a desktop, with and without scripts (reference §12.14). */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { inTurn } from '../test/support/in-turn.ts';
import { allRows, keepRows, recentRow, submissionRow } from '../test/support/submissions.ts';
import { findings } from './axe.ts';
import { openBrowser, overflowOf } from './browser.ts';
import { signedIn } from './operator.ts';
import { type Site, startSite } from './site.ts';

const NAMES = [
  'Margaret O’Neill',
  'Jürgen Müller',
  'Дмитрий Соколов',
  'محمد الأحمد',
  'José María Álvarez de la Fuente',
];
const PROGRESS = ['new', 'new', 'answered', 'won', 'lost', 'spam'] as const;
const STATUS = ['delivered', 'delivered', 'undelivered', 'waiting', 'dismissed'] as const;

let site: Site;
let browser: Browser;
beforeAll(async () => {
  site = await startSite({ NODE_ENV: 'test', REDELIVERY: 'off', OPERATOR_TIME_ZONE: 'America/Los_Angeles' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
});
beforeEach(async () => {
  const { storage } = site.service.parts;
  await storage.write(async (tx) => void (await tx.deleteFrom('submissions').execute()));
  const rows = Array.from({ length: 300 }, (_, n) =>
    submissionRow({
      receivedAt: new Date(Date.now() - (n + 1) * 60_000).toISOString(),
      form: 'homeowner_quote',
      fields: {
        name: `${NAMES[n % NAMES.length]} ${n}`,
        email: `person${n}@example.com`,
        phone: `(415) 555-${1000 + n}`,
        postal_code: String(94_000 + n),
        project_type: 'Interior',
        timeline: 'Within a month',
        message: 'Two bedrooms and the hallway, walls and ceilings. '.repeat(1 + (n % 3)),
      },
      progress: PROGRESS[n % PROGRESS.length] ?? 'new',
      status: STATUS[n % STATUS.length] ?? 'delivered',
      ...(n % 4 === 0 && { origin: 'agent' as const, data: { client: 'acme' } }),
    }),
  );
  await keepRows(storage, rows);
});

const open = (width: number, { javaScript = true, scheme = 'light' as 'light' | 'dark' } = {}) =>
  signedIn(browser, site, { javaScript, width, scheme });

const firstLeadAt = async (page: Page) => (await page.locator('.leads li').first().boundingBox())?.y ?? Infinity;

test.each([
  [390, 844, 440],
  [1280, 800, 380],
])('at %i × %i pixels the first lead begins within %i pixels', async (width, height, limit) => {
  const { page, complaints, close } = await open(width);
  await page.setViewportSize({ width, height });
  await page.goto('/operator/leads');
  expect(await firstLeadAt(page)).toBeLessThanOrEqual(limit);
  expect([await overflowOf(page), await findings(page)]).toEqual([0, []]);
  expect(complaints).toEqual([]);
  await close();
});

test.each([true, false])(
  'the operator marks 30 leads at once and undoes the change, with JavaScript: %s',
  async (javaScript) => {
    const { page, complaints, close } = await open(390, { javaScript });
    await page.goto('/operator/leads?progress=new');
    const boxes = page.getByRole('checkbox', { name: /^Select / });
    for (let n = 0; n < 30; n += 1) await boxes.nth(n).check();
    await page.locator('.bulk').getByRole('button', { name: 'Answered' }).click();
    await page.getByRole('status').getByText('30 leads marked as answered.').waitFor();
    expect(new URL(page.url()).search).toBe('?progress=new');
    await page.getByText('70 leads', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByRole('status').getByText('Undone for 30 leads.').waitFor();
    await page.getByText('100 leads', { exact: true }).waitFor();
    expect(complaints).toEqual([]);
    await close();
  },
);

test('the search finds leads by half a telephone number, a name without accents and a postal code', async () => {
  const { page, close } = await open(1280);
  await page.goto('/operator/leads');
  for (const [words, name] of [
    ['555-1042', 'Дмитрий Соколов 42'],
    ['jurgen muller 1', 'Jürgen Müller 1'],
    ["o'neill 90", 'Margaret O’Neill 90'],
    ['94043', 'محمد الأحمد 43'],
  ] as const) {
    await page.getByLabel('Search', { exact: true }).fill(words);
    await page.keyboard.press('Enter');
    await page.locator('.who').getByText(name, { exact: true }).waitFor();
  }
  await close();
});

test('the operator opens, marks and annotates one lead after the other by keyboard', async () => {
  const { page, complaints, close } = await open(390, { javaScript: false });
  await page.goto('/operator/leads?progress=new');
  await page.locator('.leads a').first().focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Margaret O’Neill 0' }).waitFor();
  const reply = await page.getByRole('link', { name: 'Reply' }).getAttribute('href');
  expect(reply).toMatch(/^mailto:person0@example\.com\?subject=\S+$/);
  await page.getByRole('button', { name: 'Answered' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('1 lead marked as answered.').waitFor();
  await page.getByLabel('Note on this lead').fill('Called. Wants Tuesday.\nTwo floors.');
  await page.getByRole('button', { name: 'Save note' }).click();
  await page.getByText('The note was saved.').waitFor();
  expect(await page.getByLabel('Note on this lead').inputValue()).toBe('Called. Wants Tuesday.\nTwo floors.');
  await page.getByRole('link', { name: 'Next' }).click();
  await page.getByRole('heading', { level: 1, name: 'Jürgen Müller 1' }).waitFor();
  const row = (await allRows(site.service.parts.storage)).find(({ email }) => email === 'person0@example.com');
  expect(row).toMatchObject({ progress: 'answered', note: 'Called. Wants Tuesday.\nTwo floors.' });
  expect(complaints).toEqual([]);
  await close();
});

test('the list of leads shows the number of new leads without a reload', async () => {
  const { page, complaints, close } = await open(1280);
  await page.clock.install();
  await page.goto('/operator/leads?q=nobody');
  const link = page.locator('.newer');
  expect(await link.isVisible()).toBe(false);
  await keepRows(site.service.parts.storage, [recentRow()]);
  await page.clock.runFor(31_000);
  await link.getByText('1 new lead').waitFor();
  await link.click();
  await page.getByRole('link', { name: 'Ada' }).first().waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test.each(inTurn(['light', 'dark'] as const, 2))(
  'pages with varied leads have no findings of axe in %s',
  async (scheme) => {
    for (const width of [390, 1280]) {
      const { page, close } = await open(width, { scheme });
      const [row] = await allRows(site.service.parts.storage);
      const paths = ['/operator/leads?status=undelivered', `/operator/leads/${row?.id}`, `/operator/people/${row?.id}`];
      for (const path of ['/operator', ...paths]) {
        await page.goto(path);
        expect([path, await findings(page), await overflowOf(page)]).toEqual([path, [], 0]);
      }
      await close();
    }
  },
);
