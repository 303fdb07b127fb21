/**
 * A person subscribes, confirms and unsubscribes by the links of the message, without scripts, on phone and desktop.
 * See reference §9.
 */
import type { Browser, Page } from 'playwright-core';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../test/mail/mail-server.ts';
import { reader, rowOf, subscribe } from '../test/newsletter/rig.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { until } from '../test/support/until.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { type Site, startSite } from './site.ts';

let mail: MailServer;
let site: Site;
let browser: Browser;
beforeAll(async () => {
  mail = await startMailServer();
  site = await startSite({ SMTP_URL: mail.url, MAIL_FROM: 'Paint Match <hello@paint.example>' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await mail.close();
});

/** Subscribes and returns both links of the message. */
async function subscribed() {
  const email = reader();
  expect(await subscribe(site.service, email)).toBe(200);
  const own = () => mail.received.find(({ to }) => to[0] === email);
  await until(() => own() !== undefined);
  const { text = '' } = await PostalMime.parse(own()?.raw ?? '');
  const [, confirm = ''] = /\s(http\S+\/newsletter\/confirm\/\S+)/.exec(text) ?? [];
  const [, leave = ''] = /\s(http\S+\/newsletter\/leave\/\S+)/.exec(text) ?? [];
  return { email, confirm, leave };
}

const pictured = async (page: Page, name: string) => {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/newsletter-${name}.png`, fullPage: true });
};

const statusOf = async (email: string) => (await rowOf(site.service, email))?.status;

test.each([true, false])(
  'a button confirms the subscription, and another button unsubscribes, with JavaScript: %s',
  async (javaScript) => {
    const { email, confirm, leave } = await subscribed();
    const visit = await openPage(browser, site.service.url, { javaScript, width: 360 });
    const { page, complaints, close } = visit;
    await page.goto(confirm);
    expect(await page.locator('main').innerText()).toContain('r•••@e•••.com');
    expect(await statusOf(email)).toBe('pending');
    await page.getByRole('button', { name: 'Yes, send me updates' }).click();
    await page.getByRole('heading', { name: 'You are subscribed' }).waitFor();
    expect(new URL(page.url()).pathname).toBe(new URL(confirm).pathname);
    expect(await statusOf(email)).toBe('confirmed');
    await page.reload();
    await page.goto(leave);
    expect(await page.locator('main').innerText()).not.toContain('@');
    await page.getByRole('button', { name: 'Unsubscribe' }).click();
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
    expect(await statusOf(email)).toBe('unsubscribed');
    await page.goto(confirm);
    await page.getByRole('link', { name: 'To the newsletter' }).click();
    await page.getByRole('heading', { name: 'Newsletter' }).waitFor();
    await until(() =>
      site.upstream.delivered.some(
        ({ event }) =>
          event.type === 'subscriber.unsubscribed' && (event.data.fields as { email: string }).email === email,
      ),
    );
    expect(complaints).toEqual([]);
    await close();
  },
);

describe.each(['light', 'dark'] as const)('newsletter pages in %s', (scheme) => {
  test.each(inTurn([360, 1280], 2))('fit at %i px without findings of axe', async (width) => {
    const { confirm, leave } = await subscribed();
    const visit = await openPage(browser, site.service.url, { javaScript: true, width, scheme });
    const { page, close } = visit;
    const looked = async (name: string) => {
      await pictured(page, `${name}-${width}-${scheme}`);
      expect([name, await findings(page), await overflowOf(page)]).toEqual([name, [], 0]);
    };
    await page.goto(confirm);
    await looked('confirm');
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'You are subscribed' }).waitFor();
    await looked('confirmed');
    await page.goto(leave);
    await looked('leave');
    await page.getByRole('button').click();
    await page.getByRole('heading', { name: 'You are unsubscribed' }).waitFor();
    await looked('left');
    await page.goto(confirm);
    await looked('left-then-confirm');
    await page.goto(`${confirm}x`);
    await looked('unknown');
    await close();
  });
});
