/** An operator signs in with a mailed link, and gets a fresh one for a deletion (reference §12.16). */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { JO, mailed, startWithOperators } from '../test/console/sign-in-mail.ts';
import { type MailServer, startMailServer } from '../test/mail/mail-server.ts';
import { type TestClock, testClock } from '../test/support/clock.ts';
import type { Service } from '../test/support/service.ts';
import { allRows, keepRows, submissionRow } from '../test/support/submissions.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';

const HOUR_MS = 3_600_000;
/** Chromium reports each answer of 403 as an error. */
const REFUSED = 'console: Failed to load resource: the server responded with a status of 403 (Forbidden)';

let browser: Browser;
let server: MailServer;
let clock: TestClock;
let service: Service;
beforeAll(async () => {
  browser = await openBrowser();
  server = await startMailServer();
  clock = testClock();
  service = await startWithOperators(server, clock);
});
afterAll(async () => {
  await browser.close();
  await service.close();
  await server.close();
});
// The limit of an hour does not concern these tests.
beforeEach(() => clock.advance(2 * HOUR_MS));

async function nextLink(): Promise<string> {
  await Promise.all(service.parts.background.all());
  const [mail] = await mailed(service, server);
  return mail?.path ?? expect.fail('No link was mailed.');
}

async function expectGoodPage(page: Page): Promise<void> {
  expect(await findings(page, 'AAA')).toEqual([]);
  expect(await overflowOf(page)).toBe(0);
}

describe.each([
  [390, 'light'],
  [1280, 'dark'],
] as const)('sign-in by mail at %i px, %s', (width, scheme) => {
  test('opens the requested page after the sign-in, and the deletion page after a fresh sign-in', async () => {
    const lead = submissionRow({ fields: { name: 'Ada', email: `ada-${width}@example.com` } });
    await keepRows(service.parts.storage, [lead]);
    const { page, complaints, close } = await openPage(browser, service.url, { javaScript: true, width, scheme });
    await page.goto(`/operator/leads/${lead.id}`);
    await page.getByRole('heading', { level: 1, name: 'Sign in' }).waitFor();
    await expectGoodPage(page);
    await page.getByLabel('E-mail address').fill(JO);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Check your mail' }).waitFor();
    await expectGoodPage(page);

    const link = await nextLink();
    await page.goto(link);
    await expectGoodPage(page);
    await page.getByRole('button', { name: 'Sign in' }).press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Ada' }).waitFor();
    expect(new URL(page.url()).pathname).toBe(`/operator/leads/${lead.id}`);

    await page.goto(link);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'This sign-in link is invalid or used.' }).waitFor();
    await expectGoodPage(page);

    clock.advance(HOUR_MS);
    await page.goto(`/operator/people/${lead.id}?delete=ask`);
    await expectGoodPage(page);
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { name: 'You signed in more than an hour ago.' }).waitFor();
    await expectGoodPage(page);
    await page.getByRole('button', { name: 'E-mail me a fresh link' }).click();
    await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
    await page.goto(await nextLink());
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { name: 'Delete everything about this person?' }).waitFor();
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('heading', { level: 1, name: 'Leads' }).waitFor();
    expect((await allRows(service.parts.storage)).map(({ id }) => id)).not.toContain(lead.id);
    expect(complaints.filter((complaint) => complaint !== REFUSED)).toEqual([]);
    await close();
  });
});

test('a link on another site opens a page of the console, and a form on another site changes nothing', async () => {
  const { page, close } = await openPage(browser, service.url, { javaScript: false, width: 1280 });
  await page.goto('/operator/audit');
  await page.getByLabel('E-mail address').fill(JO);
  await page.getByRole('button').click();
  await page.getByRole('heading', { name: 'Check your mail' }).waitFor();
  await page.goto(await nextLink());
  await page.getByRole('button').click();
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();

  const elsewhere = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(`
      <a href="${service.url}/operator/messages">Messages</a>
      <form method="post" action="${service.url}/operator"><button name="do" value="sign-out">Win</button></form>`);
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  // A name and an address of this machine are different sites.
  const there = `http://localhost:${(elsewhere.address() as AddressInfo).port}`;
  await page.goto(there);
  await page.getByRole('link', { name: 'Messages' }).click();
  await page.getByRole('heading', { level: 1, name: 'Messages' }).waitFor();
  await page.goto(there);
  await page.getByRole('button', { name: 'Win' }).click();
  await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  await page.goto('/operator/audit');
  await page.getByRole('heading', { level: 1, name: 'Audit' }).waitFor();
  await close();
  elsewhere.close();
});
