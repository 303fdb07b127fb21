/**
 * A person opens the link of an agent's request on a phone, types the code and confirms (reference §6).
 * The agent gets the receipt.
 */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shortReference } from '../src/submissions/submission.ts';
import { lookAt, pending } from '../test/confirmations/rig.ts';
import { type MailServer, startMailServer } from '../test/mail/mail-server.ts';
import { quote } from '../test/support/agent.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { until } from '../test/support/until.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { type Site, startSite } from './site.ts';

const fields = { ...quote, message: 'Two rooms,\nfirst floor. <b>Not bold</b>' };

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

const opened = async (via: string, scheme: 'light' | 'dark' = 'light', width = 360) => {
  const asked = await pending(site.service, { fields, via });
  const visit = await openPage(browser, site.service.url, { javaScript: true, width, scheme });
  await visit.page.goto(asked.path);
  return { ...asked, ...visit };
};
const pictured = async (page: Page, name: string) => {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/confirm-${name}.png`, fullPage: true });
};

describe('confirmation page', () => {
  test('sends the submission after the mailed code and a click, and the agent gets the receipt', async () => {
    const { page, id, complaints, close } = await opened('page_email');
    expect(await page.locator('main').innerText()).not.toContain('Lovelace');
    await page.getByRole('button', { name: 'Mail me a code' }).click();
    await until(() => mail.received.length > 0);
    const [, code = ''] = /\r?\n\r?\n(\d{6}) is your code/.exec(mail.received[0]?.raw ?? '') ?? [];
    expect(mail.received[0]?.to).toEqual(['ada@example.com']);
    expect(mail.received[0]?.raw).toContain(new URL(page.url()).pathname);
    await pictured(page, 'code-360-light');
    const wrong = code === '000000' ? '000001' : '000000';
    await page.getByLabel('Code from the message').fill(wrong);
    await page.keyboard.press('Enter');
    await page.getByText('You can try 4 more times').waitFor();
    expect(await page.locator('main').innerText()).not.toContain('Lovelace');
    await page.getByLabel('Code from the message').fill(code);
    await page.getByRole('button', { name: 'Show my details' }).click();
    await page.getByText('Ada Lovelace').waitFor();
    expect(await page.locator('.details').innerText()).toContain(fields.message);
    expect((await lookAt(site.service, id)).body.confirmation.status).toBe('pending');
    await page.getByRole('button', { name: 'Send to Vetted Painters' }).click();
    await page.getByRole('heading', { name: 'Your details were sent' }).waitFor();
    const end = await page.locator('main').innerText();
    expect(end).toContain(shortReference(id));
    expect(end).toMatch(/Vetted Painters got your details 1 minute ago \(.*What happens next.*back to your assistant/s);
    expect(end).not.toContain('Lovelace');
    const { body } = await lookAt(site.service, id);
    expect(body).toMatchObject({
      confirmation: { status: 'submitted' },
      receipt: { action_id: id, status: 'submitted' },
    });
    expect(site.upstream.delivered.filter(({ headers }) => headers['webhook-id'] === id)).toHaveLength(1);
    expect(complaints).toEqual([]);
    await close();
  });

  test('adds the exact time in the visitor’s time zone to relative times', async () => {
    const { path, id } = await pending(site.service, { fields });
    const expires = new Date((await lookAt(site.service, id)).body.confirmation.expires_at);
    for (const timeZone of ['Pacific/Honolulu', 'Asia/Kolkata']) {
      const context = await browser.newContext({ baseURL: site.service.url, timezoneId: timeZone });
      const page = await context.newPage();
      await page.goto(path);
      const time = expires.toLocaleTimeString('en', { timeStyle: 'short', timeZone });
      const said = await page.getByText(/^You can answer for (60|59) minutes/).innerText();
      expect(said.replaceAll('\u202f', ' ')).toContain(`${time.replaceAll('\u202f', ' ')}).`);
      await context.close();
    }
  });

  test('works by keyboard without a script, and each button names its effect', async () => {
    const { path, id } = await pending(site.service, { fields });
    const { page, close } = await openPage(browser, site.service.url, {
      javaScript: false,
      width: 360,
    });
    await page.goto(path);
    const names: string[] = [];
    for (let presses = 0; presses < 40 && names.length < 4; presses += 1) {
      await page.keyboard.press('Tab');
      const focused = page.locator('main button:focus');
      if ((await focused.count()) > 0) names.push(await focused.innerText());
    }
    expect(names).toEqual(['Send to Vetted Painters', 'Change something', 'Don’t send', 'I did not ask for this']);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Not sent' }).waitFor();
    expect((await lookAt(site.service, id)).body.confirmation.status).toBe('declined');
    await close();
  });

  // Each half has both schemes and both widths.
  const surroundings: ['light' | 'dark', number][] = [
    ['light', 360],
    ['dark', 360],
    ['dark', 1280],
    ['light', 1280],
  ];
  test.each(inTurn(surroundings, 2))('has no findings of axe and no overflow in %s at %i px', async (scheme, width) => {
    for (const via of ['page', 'page_email']) {
      const { page, complaints, close } = await opened(via, scheme, width);
      expect([via, await findings(page, 'AAA'), await overflowOf(page)]).toEqual([via, [], 0]);
      await pictured(page, `${via}-${width}-${scheme}`);
      if (via === 'page') {
        await page.getByRole('button', { name: 'I did not ask for this' }).isVisible();
        await page.getByRole('button', { name: 'Send to Vetted Painters' }).click();
        await page.getByRole('heading', { name: 'Your details were sent' }).waitFor();
        expect(await findings(page, 'AAA')).toEqual([]);
        await pictured(page, `sent-${width}-${scheme}`);
      }
      expect(complaints).toEqual([]);
      await close();
    }
  });
});
