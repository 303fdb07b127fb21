/** The page that masks values until a mailed code is typed (reference §6.13): code mailed, wrong code, limit reached. */
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { pending, wrongOf } from '../test/confirmations/rig.ts';
import { type MailServer, startMailServer } from '../test/mail/mail-server.ts';
import { quote } from '../test/support/agent.ts';
import { until } from '../test/support/until.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf, type Surroundings } from './browser.ts';
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

const opened = async (email: string, surroundings: Surroundings) => {
  const { path } = await pending(site.service, { fields: { ...quote, email }, via: 'page_email' });
  const visit = await openPage(browser, site.service.url, surroundings);
  await visit.page.goto(path);
  return visit;
};
/** Requests a code and returns it once the mailbox has this many. */
const mailed = async (page: Page, email: string, count: number): Promise<string> => {
  await page.getByRole('button', { name: /^Mail me a/ }).click();
  await page.getByText(count === 1 ? 'We mailed you a code' : `link so far: ${count}`).waitFor();
  const codes = () =>
    mail.received.flatMap(({ to, raw }) =>
      to.includes(email) ? [/\r?\n\r?\n(\d{6}) is your code/.exec(raw)?.[1] ?? ''] : [],
    );
  await until(() => codes().length >= count, 10_000);
  return codes()[count - 1] ?? '';
};
/** Types as a keyboard or a clipboard does. An input with a limit cuts the text. */
const typed = async (page: Page, text: string) => {
  await page.getByLabel('Code from the message').focus();
  await page.keyboard.insertText(text);
  await page.keyboard.press('Enter');
};
const pictured = async (page: Page, name: string) => {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/code-${name}.png`, fullPage: true });
};
const description = async (input: Locator) => {
  const ids = (await input.getAttribute('aria-describedby'))?.split(' ') ?? [];
  return await Promise.all(ids.map((id) => input.page().locator(`#${id}`).textContent()));
};

test('without a script, the page shows the result of each click at the focus, and a code may contain blanks', async () => {
  const email = 'blanks@example.com';
  const { page, complaints, close } = await opened(email, { javaScript: false, width: 360 });
  const focused = page.locator('.notice:focus');
  await mailed(page, email, 1);
  for (const isReloaded of [false, true]) {
    if (isReloaded) await page.reload();
    expect(await focused.innerText()).toMatch(/^We mailed you a code\s.*b•••@e•••\.com 1 minute ago\./s);
    expect(await page.title()).toMatch(/^We mailed you a code · /);
  }
  const code = await mailed(page, email, 2);
  expect(await focused.innerText()).toMatch(/^We mailed you another code\s.* so far: 2\./s);
  expect(await page.title()).toMatch(/^We mailed you another code · /);
  // The link leads to the field, and another Tab into its input.
  await page.keyboard.press('Tab');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Tab');
  await page.keyboard.type('12');
  const input = page.locator('input#code:focus');
  expect(await input.inputValue()).toBe('12');
  await input.clear();
  expect(await description(input)).toEqual(['Six digits, valid for ten minutes.']);

  await typed(page, `${code.slice(0, 3)} ${code.slice(3, 5)}`);
  expect(await focused.innerText()).toMatch(/^This code is wrong\.\s.*You can try 4 more/s);
  expect(await page.title()).toMatch(/^Error: /);
  const wrong = page.locator('input#code[aria-invalid="true"]');
  expect((await description(wrong)).at(-1)).toBe('Error: This code is wrong.');

  await typed(page, `${code.slice(0, 3)}\u00a0 ${code.slice(3)}`);
  await page.getByText('Ada Lovelace').waitFor();
  expect(complaints).toEqual([]);
  await close();
});

describe.each([
  ['light', 360],
  ['dark', 360],
  ['light', 1280],
  ['dark', 1280],
] as const)('confirmation page with a code in %s at %i px', (scheme, width) => {
  test('has no findings of axe and no overflow in any state', async () => {
    const email = `states-${scheme}-${width}@example.com`;
    const { page, complaints, close } = await opened(email, { javaScript: true, width, scheme });
    const looked = async (state: string) => {
      expect([state, await findings(page, 'AAA'), await overflowOf(page)]).toEqual([state, [], 0]);
      await pictured(page, `${state}-${width}-${scheme}`);
    };
    await mailed(page, email, 1);
    await looked('mailed');
    await mailed(page, email, 2);
    const code = await mailed(page, email, 3);
    await looked('another');
    await typed(page, wrongOf(code));
    await page.getByRole('heading', { name: 'This code is wrong.' }).waitFor();
    await looked('wrong');
    await page.getByRole('button', { name: 'Mail me another code' }).click();
    await page.getByRole('heading', { name: 'We can’t send another code' }).waitFor();
    await looked('no-further');
    // The status 429 is intended, and the browser logs it.
    expect(complaints.filter((each) => !each.includes('429'))).toEqual([]);
    await close();
  });
});
