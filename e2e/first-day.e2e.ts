/** An operator's first day, on a phone, from an empty database (reference §12.14, §12.16). */
import type { Browser, Page } from 'playwright-core';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../test/mail/mail-server.ts';
import { quote } from '../test/support/agent.ts';
import { post } from '../test/support/forms.ts';
import { allRows } from '../test/support/submissions.ts';
import { until } from '../test/support/until.ts';
import { openBrowser, openPage } from './browser.ts';
import { type Site, startSite } from './site.ts';

const DANA = 'dana@paint.example';
const NAMES = ['Margaret O’Neill', 'Jürgen Müller', 'Дмитрий Соколов', 'José Álvarez', 'Aoife Ní Dhomhnaill'];

let mail: MailServer;
let site: Site;
let browser: Browser;
beforeAll(async () => {
  mail = await startMailServer();
  site = await startSite({
    NODE_ENV: 'test',
    OPERATORS: DANA,
    NOTIFY_EMAIL: DANA,
    SMTP_URL: mail.url,
    MAIL_PER_MINUTE: '600',
  });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await mail.close();
});

/** Sends the form for a quote as a person does. */
const send = (n: number) =>
  post(site.service, '/api/leads', 'json', {
    form: 'homeowner_quote',
    name: `${NAMES[n % NAMES.length]} ${n}`,
    email: `person${n}@example.com`,
    phone: `(415) 555-${1_000 + n}`,
    postal_code: String(94_000 + n),
    project_type: 'Interior',
    timeline: 'Within a month',
  });

/** Returns the text of the newest mail to the operator with this word, and its first link. */
async function mailWith(word: string) {
  const own = async () => {
    const texts = mail.received.map(async ({ raw }) => (await PostalMime.parse(raw)).text ?? '');
    return (await Promise.all(texts)).findLast((text) => text.includes(word));
  };
  await until(async () => (await own()) !== undefined);
  const text = (await own()) ?? '';
  const link = /https?:\/\/\S+\/operator\/\S+/.exec(text)?.[0] ?? expect.fail('The mail has no link.');
  return { text, path: new URL(link).pathname };
}

const button = (page: Page, name: string) => page.getByRole('button', { name, exact: true });

test('the operator signs in by mail, reads the first lead from its notice and handles the other leads', async () => {
  expect((await send(0)).status).toBe(200);
  const notice = await mailWith('Margaret');
  const { page, complaints, close } = await openPage(browser, site.service.url, { javaScript: true, width: 390 });

  // The link of the notice leads to the sign-in page, and the mailed link back to the lead.
  await page.goto(notice.path);
  await page.getByLabel('E-mail').fill(DANA);
  await button(page, 'E-mail me a link').click();
  await page.getByText('on its way').first().waitFor();
  await page.goto((await mailWith('/operator/sign-in/')).path);
  await button(page, 'Sign in').click();
  await page.getByRole('heading', { level: 1, name: 'Margaret O’Neill 0' }).waitFor();

  // Answer it, mark it and add a note.
  expect(await page.getByRole('link', { name: 'Reply' }).getAttribute('href')).toMatch(
    /^mailto:person0@example\.com\?/,
  );
  await button(page, 'Answered').click();
  await page.getByText('1 lead marked as answered.').waitFor();
  await page.getByLabel('Note on this lead').fill('Called. Wants Tuesday.');
  await button(page, 'Save note').click();
  await page.getByText('The note was saved.').waitFor();

  // Mark 30 at once, and undo it.
  for (let n = 1; n <= 40; n += 1) expect((await send(n)).status).toBe(200);
  await page.goto('/operator/leads?progress=new');
  const boxes = page.getByRole('checkbox', { name: /^Select / });
  for (let n = 0; n < 30; n += 1) await boxes.nth(n).check();
  await page.locator('.bulk').getByRole('button', { name: 'Won' }).click();
  await page.getByText('30 leads marked as won.').waitFor();
  await button(page, 'Undo').click();
  await page.getByText('Undone for 30 leads.').waitFor();
  const rows = await allRows(site.service.parts.storage);
  expect(rows.filter(({ progress }) => progress === 'new')).toHaveLength(40);

  // Find three: by half a number, a name without accents, and a postal code.
  for (const [words, name] of [
    ['555-1017', 'Дмитрий Соколов 17'],
    ['jose alvarez 3', 'José Álvarez 3'],
    ['94021', 'Jürgen Müller 21'],
  ] as const) {
    await page.goto('/operator/leads');
    await page.getByLabel('Search', { exact: true }).fill(words);
    await page.keyboard.press('Enter');
    await page.locator('.who').getByText(name, { exact: true }).waitFor();
  }

  // Issue a credential, and see its token once.
  await page.goto('/operator/agents');
  await page.getByText('Issue a credential').first().click();
  await page.getByLabel('Name', { exact: true }).fill('beta-bot');
  await page.getByLabel('Label').fill('Beta Bot');
  await page.locator('details.issue').getByRole('button').click();
  const token = /lia_[\w-]+/.exec(await page.locator('main').innerText())?.[0] ?? expect.fail('There is no token.');
  const preview = await fetch(`${site.service.url}/api/agent/actions/homeowner_quote/preview`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify(quote),
  });
  expect(preview.status).toBe(200);
  await page.goto('/operator/agents');
  expect(await page.locator('main').innerText()).not.toContain(token);

  // Export all leads.
  await page.goto('/operator/leads');
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('link', { name: 'CSV', exact: true }).click(),
  ]);
  expect(download.suggestedFilename()).toBe('leads.csv');

  // Delete one person.
  await page.goto('/operator/leads?q=person5%40example.com');
  await page.locator('.leads a').first().click();
  await page.getByRole('link', { name: 'Everything about this person' }).click();
  await page.getByRole('link', { name: 'Delete' }).click();
  await button(page, 'Delete').click();
  await page.getByText(/^Deleted: 1 lead/).waitFor();
  expect((await allRows(site.service.parts.storage)).some(({ email }) => email === 'person5@example.com')).toBe(false);

  await page.locator('details.session summary').click();
  await button(page, 'Sign out everywhere').click();
  await page.getByLabel('E-mail').waitFor();
  expect(complaints).toEqual([]);
  await close();
});
