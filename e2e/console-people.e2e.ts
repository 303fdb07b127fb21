/** The operator exports and deletes a person, and reads the pages of agents and messages (reference §12.11, §12.13). */
import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SubscriberStatus } from '../src/storage/schema.ts';
import { pending, pressButton } from '../test/confirmations/rig.ts';
import { quote } from '../test/support/agent.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { allRows, keepRows, recentRow } from '../test/support/submissions.ts';
import { findings } from './axe.ts';
import { openBrowser, overflowOf } from './browser.ts';
import { signedIn } from './operator.ts';
import { type Site, startSite } from './site.ts';

const EVIL = '<script>document.title="owned"</script>';

let site: Site;
let browser: Browser;
const eve = { name: `Eve ${EVIL}`, email: 'eve@example.com', message: 'Two rooms' };
const first = recentRow({ fields: eve });
const second = recentRow({
  fields: { ...eve, message: 'And a door' },
  status: 'undelivered',
  reason: 'rejected',
});
const other = recentRow();

beforeAll(async () => {
  site = await startSite({ NODE_ENV: 'test', REDELIVERY: 'off', OPERATOR_TIME_ZONE: 'UTC' });
  browser = await openBrowser();
  const { storage } = site.service.parts;
  await keepRows(storage, [first, second, other]);
  const fields = { ...quote, email: 'eve@example.com' };
  await pending(site.service, { fields });
  const declined = await pending(site.service, { fields: { ...quote, name: EVIL } });
  await pressButton(site.service, declined.path, 'decline');
  const reported = await pending(site.service, { fields: { ...quote, email: 'r@example.com' } });
  await pressButton(site.service, reported.path, 'report');
  const now = new Date().toISOString();
  const dead = (kind: 'confirmation' | 'notice', key: string, address: string | null) => ({
    kind,
    key,
    address,
    about: null,
    priority: 2 as const,
    message_id: `<${randomUUID()}@x.example>`,
    status: 'dead' as const,
    requested_at: now,
    attempts: kind === 'notice' ? 7 : 1,
    next_attempt_at: now,
    last_attempt_at: now,
    attempt_started_ms: null,
    reply: kind === 'notice' ? null : '550 5.1.1 … Recipient address rejected: User unknown in virtual mailbox table',
  });
  const address = `a-very-long-mailbox-of-somebody-who-left-${'x'.repeat(20)}@example.com`;
  const rows = [dead('confirmation', address, address), dead('notice', other.id, null)];
  await storage.write((tx) => tx.insertInto('messages').values(rows).execute());
  const subscriber = (email: string, status: SubscriberStatus, contractor: string) => ({
    ...{ id: randomUUID(), email, contractor, status, made_by: '', expires_at: null },
    ...{ confirm_token: randomUUID(), leave_token: randomUUID() },
    ...{ created_at: now, consent_recorded_at: now },
    confirmed_at: status === 'pending' ? null : now,
    unsubscribed_at: status === 'unsubscribed' ? now : null,
  });
  const subscribers = [
    subscriber('ada@example.com', 'confirmed', 'direct'),
    subscriber(address, 'pending', 'acme-painting'),
    subscriber('joan@example.com', 'unsubscribed', 'direct'),
  ];
  await storage.write((tx) => tx.insertInto('subscribers').values(subscribers).execute());
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const enter = (width: number, scheme: 'light' | 'dark' = 'light', javaScript = true) =>
  signedIn(browser, site, { javaScript, width, scheme });

const PAGES = {
  person: `/operator/people/${first.id}`,
  delete: `/operator/people/${first.id}?delete=ask`,
  confirmations: '/operator/confirmations',
  messages: '/operator/messages',
  subscribers: '/operator/subscribers',
  agents: '/operator/agents',
};

/** Returns elements so narrow that they have a line for each letter or two. */
const narrow = (all: { offsetWidth: number; innerText: string }[]) =>
  all.filter((each) => each.offsetWidth < 80).map((each) => each.innerText);

describe.each(['light', 'dark'] as const)('console pages about people in %s', (scheme) => {
  test.each(inTurn([360, 1280], 2))('fit at %i px without findings of axe', async (width) => {
    const { page, complaints, close } = await enter(width, scheme);
    const folder = process.env.SCREENSHOTS;
    for (const [name, path] of Object.entries(PAGES)) {
      await page.goto(path);
      expect(await page.title()).not.toContain('owned');
      expect(await page.locator('main img, main script').count()).toBe(0);
      for (const details of await page.locator('summary').all()) await details.click();
      expect([path, await findings(page)]).toEqual([path, []]);
      expect([path, await overflowOf(page)]).toEqual([path, 0]);
      expect([path, await page.locator('.when').evaluateAll(narrow)]).toEqual([path, []]);
      if (folder) {
        const file = `${folder}/people-${name}-${width}-${scheme}.png`;
        await page.screenshot({ path: file, fullPage: true });
      }
    }
    expect(complaints).toEqual([]);
    await close();
  });
});

test('the operator downloads the confirmed subscribers with their link to unsubscribe', async () => {
  const { page, complaints, close } = await enter(1280);
  await page.getByRole('link', { name: 'Subscribers', exact: true }).click();
  await page.getByText('3 subscribers: 1 confirmed, 1 pending, 1 unsubscribed').waitFor();
  const downloading = page.waitForEvent('download');
  await page.getByRole('link', { name: 'CSV of confirmed' }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toBe('subscribers.csv');
  const text = readFileSync(await download.path(), 'utf8');
  expect(text).toMatch(
    /^\uFEFFemail,.*,unsubscribe_url\r\nada@example\.com,direct,confirmed,.*\/newsletter\/leave\/\S+\r\n$/,
  );
  expect(complaints).toEqual([]);
  await close();
});

test('a click on Resend sends a message again that the mail server refused', async () => {
  const { page, complaints, close } = await enter(1280);
  await page.getByRole('link', { name: 'Messages', exact: true }).click();
  await page.getByText('2 failed permanently').waitFor();
  const row = page.getByRole('listitem').filter({ hasText: 'Notice of a lead' });
  await row.getByRole('button', { name: 'Resend' }).click();
  await page.getByText('1 failed permanently').waitFor();
  expect(await row.count()).toBe(0);
  expect(complaints).toEqual([]);
  await close();
});

test('the operator exports and deletes everything about a person by keyboard, without a script', async () => {
  const { page, complaints, close } = await enter(360, 'light', false);
  const go = async (name: string) => {
    await page.getByRole('link', { name, exact: true }).first().focus();
    await page.keyboard.press('Enter');
  };
  await page.goto(`/operator/leads/${second.id}`);
  await go('Everything about this person');
  await page.getByRole('heading', { level: 1, name: 'eve@example.com' }).waitFor();
  expect(await page.getByRole('listitem').filter({ hasText: 'Eve <script>' }).count()).toBe(2);

  const download = page.waitForEvent('download');
  await go('Export');
  expect((await download).suggestedFilename()).toBe('person.jsonl');

  await go('Delete');
  await page.getByRole('heading', { name: 'Delete everything about this person?' }).waitFor();
  await go('Keep everything');
  await go('Delete');
  await page.getByRole('button', { name: 'Delete' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { level: 1, name: 'Leads' }).waitFor();
  expect((await allRows(site.service.parts.storage)).map(({ id }) => id)).toEqual([other.id]);
  await go('Audit');
  await page.getByText('Deleted everything about a person').waitFor();
  expect(await page.locator('main').innerText()).not.toContain('eve@');
  expect(complaints).toEqual([]);
  await close();
});
