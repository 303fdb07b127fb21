/** The operator's morning (reference §12): sign in, see what needs attention, read, dismiss, sign out. */
import { connect } from 'node:net';
import { createServer } from 'node:tls';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { linkFor } from '../test/console/operator.ts';
import { consolePages } from '../test/console/pages.ts';
import { executeAction, previewId, quote } from '../test/support/agent.ts';
import { cert, key } from '../test/support/certificate.ts';
import { freePort } from '../test/support/free-port.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { allRows, keepRows, recentRow, submissionRow } from '../test/support/submissions.ts';
import { findings } from './axe.ts';
import { openBrowser, overflowOf } from './browser.ts';
import { signedIn } from './operator.ts';
import { type Site, startSite } from './site.ts';

const DAY_MS = 86_400_000;
const PAGES = [...consolePages, '/operator/sign-in', '/operator/sign-in/sent', '/operator/sign-in/x'];

let site: Site;
let browser: Browser;
const lost = recentRow({
  status: 'undelivered',
  reason: 'attempts_used_up',
  fields: { name: 'Grace Hopper', email: 'grace@example.com', phone: '+1 555 0101' },
  attempts: [{ outcome: 'unconfirmed' }, { outcome: 'unconfirmed', by: 'redelivery' }],
});
const marked = recentRow({
  status: 'undelivered',
  reason: 'rejected',
  fields: {
    name: '<script>document.title="owned"</script>',
    email: 'x@example.com',
    phone: 'javascript:alert(1)',
    message: '"><img src=x onerror=alert(1)>\n'.repeat(3),
  },
});
let executed = '';

beforeAll(async () => {
  site = await startSite({
    NODE_ENV: 'test',
    REDELIVERY: 'off',
    OPERATOR_TIME_ZONE: 'Europe/Berlin',
  });
  browser = await openBrowser();
  const now = Date.now();
  const rows = Array.from({ length: 70 }, (_, n) =>
    submissionRow({
      receivedAt: new Date(now - ((n * 7) % 30) * DAY_MS - n * 60_000).toISOString(),
      fields: { name: `Person ${n}`, email: `person${n}@example.com`, message: 'Hello' },
      ...(n % 5 === 0 && { origin: 'agent' as const, data: { client: 'acme' } }),
    }),
  );
  await keepRows(site.service.parts.storage, [...rows, lost, marked]);
  const answer = await executeAction(site.service, await previewId(site.service, undefined, quote));
  executed = answer.body.receipt.action_id;
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const enter = (width: number, scheme: 'light' | 'dark' = 'light', javaScript = true) =>
  signedIn(browser, site, { javaScript, width, scheme });

/** Signs out by the menu of the operator's name. */
const signOut = async (page: Page) => {
  const menu = page.locator('details.session');
  if ((await menu.getAttribute('open')) === null) await menu.locator('summary').click();
  await page.getByRole('button', { name: 'Sign out', exact: true }).click();
  await page.getByText('npm run operator -- link').waitFor();
};

const pictured = async (page: Page, name: string) => {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/console-${name}.png`, fullPage: true });
};

/** Returns the width of each element that is wider than its parent. */
const wide = (all: { offsetWidth: number; parentElement: { clientWidth: number } | null }[]) =>
  all.flatMap((each) => (each.offsetWidth > (each.parentElement?.clientWidth ?? 0) ? [each.offsetWidth] : []));

describe.each(['light', 'dark'] as const)('console in %s', (scheme) => {
  test.each(inTurn([360, 1280], 2))('every page fits at %i px without findings of axe', async (width) => {
    const { page, complaints, close } = await enter(width, scheme);
    const leads = [lost.id, marked.id, executed].map((id) => `/operator/leads/${id}`);
    const all = [...PAGES, ...leads, `/operator/people/${marked.id}`];
    for (const [index, path] of all.entries()) {
      await page.goto(path);
      for (const details of await page.locator('summary').all()) await details.click();
      expect([path, await findings(page)]).toEqual([path, []]);
      expect([path, await overflowOf(page)]).toEqual([path, 0]);
      expect([path, await page.locator('table').evaluateAll(wide)]).toEqual([path, []]);
      await pictured(page, `${index}-${width}-${scheme}`);
    }
    await signOut(page);
    await pictured(page, `out-${width}-${scheme}`);
    expect(complaints).toEqual([]);
    await close();
  });
});

test('the operator does the tasks of a morning by keyboard, without a script', async () => {
  const { page, complaints, close } = await enter(360, 'light', false);
  const go = async (name: string | RegExp) => {
    await page.getByRole('link', { name }).first().focus();
    await page.keyboard.press('Enter');
  };
  await go(/leads? did not arrive/);
  await go('Grace Hopper');
  await page.getByRole('heading', { level: 1, name: 'Grace Hopper' }).waitFor();
  expect(await page.getByRole('link', { name: 'grace@example.com' }).getAttribute('href')).toBe(
    'mailto:grace@example.com',
  );
  expect(await page.getByRole('link', { name: '+1 555 0101' }).getAttribute('href')).toBe('tel:+15550101');
  await page.getByLabel('Reason to stop the delivery').focus();
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.getByText('1 lead dismissed. The service no longer delivers it.').waitFor();
  const rows = await allRows(site.service.parts.storage);
  expect(rows.find(({ id }) => id === lost.id)).toMatchObject({
    status: 'dismissed',
    reason: 'answered',
  });
  await go('Leads');
  await page.getByLabel('Search', { exact: true }).fill('person6@');
  await page.keyboard.press('Enter');
  await page.getByText('1 lead', { exact: true }).waitFor();
  await go('Audit');
  await page.getByText('Dismissed a lead').waitFor();
  await page.locator('details.session summary').focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Sign out everywhere' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('npm run operator -- link').waitFor();
  expect(complaints).toEqual([]);
  await close();
});

test('on a phone, an option of a command and a date do not break across lines', async () => {
  const { page, close } = await enter(360);
  const broken = async (selector: string) => {
    for (const details of await page.locator('summary').all()) await details.click();
    expect(await page.locator(selector).count()).toBeGreaterThan(0);
    return await page.evaluate(`[...document.querySelectorAll('${selector}')].filter((element) => {
      const range = document.createRange();
      range.selectNodeContents(element);
      return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
    }).map((element) => element.textContent)`);
  };
  await page.goto('/operator');
  expect(await broken('tbody th')).toEqual([]);
  await signOut(page);
  expect(await broken('.option')).toEqual([]);
  await close();
});

test('markup that a person entered is shown as text on every page for the operator', async () => {
  const { page, complaints, close } = await enter(1280);
  for (const path of [
    '/operator/leads?status=undelivered',
    `/operator/leads/${marked.id}`,
    `/operator/people/${marked.id}`,
  ]) {
    await page.goto(path);
    expect(await page.locator('main').innerText()).toContain('<script>document.title="owned"');
    expect(await page.title()).not.toContain('owned');
    expect(await page.locator('main img, main script').count()).toBe(0);
  }
  expect(await page.locator('a[href^="javascript"]').count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test.each([390, 600, 900, 1280])(
  'the date fields of the filters are wide enough for Firefox at %i px',
  async (width) => {
    const { page, close } = await enter(width);
    await page.goto('/operator/leads?status=undelivered');
    // Firefox needs 9.5rem for an empty date and its picture.
    for (const date of ['#since', '#until']) {
      expect((await page.locator(date).boundingBox())?.width).toBeGreaterThanOrEqual(152);
    }
    await close();
  },
);

test('the mark of an undelivered lead is wide enough for two lines in WebKit', async () => {
  const { page, close } = await enter(1280);
  await page.goto(`/operator/leads/${marked.id}`);
  // WebKit draws a double line of less than 6 pixels as one bar.
  const mark = await page.evaluate(`(({ borderInlineStartWidth, borderInlineStartStyle }) =>
    [parseFloat(borderInlineStartWidth) >= 6, borderInlineStartStyle])(
      getComputedStyle(document.querySelector('.status.undelivered')))`);
  expect(mark).toEqual([true, 'double']);
  await close();
});

test('the browser shows no page from its history after the operator has signed out', async () => {
  const { page, close } = await enter(1280);
  await expectNoHistory(page);
  await close();
});

test('the browser shows no page from its history after the sign-out, also over https', async () => {
  const port = await freePort();
  const secure = await startSite({ BASE_URL: `https://localhost:${port}`, OPERATOR_CONSOLE: 'on' });
  const { settings } = secure.service;
  const proxy = createServer({ cert, key }, (client) => {
    const service = connect(settings.port, settings.host);
    client.pipe(service).pipe(client);
    for (const socket of [client, service]) socket.on('error', () => client.destroy());
  });
  await new Promise<void>((resolve) => proxy.listen(port, '127.0.0.1', resolve));
  await keepRows(secure.service.parts.storage, [lost]);
  const context = await browser.newContext({ baseURL: settings.baseUrl, ignoreHTTPSErrors: true });
  const page = await context.newPage();
  await page.goto(await linkFor(secure.service));
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  expect(await context.cookies()).toMatchObject([{ secure: true }]);
  await expectNoHistory(page);
  await context.close();
  proxy.close();
  await secure.close();
});

/** Opens a lead, signs out and goes back, which must not show the lead. */
async function expectNoHistory(page: Page): Promise<void> {
  await page.goto(`/operator/leads/${lost.id}`);
  await page.getByRole('heading', { level: 1, name: 'Grace Hopper' }).waitFor();
  await signOut(page);
  await page.goBack();
  expect(await page.locator('body').innerText()).not.toContain('Grace');
}
