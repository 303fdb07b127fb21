/** The operator issues, rotates and revokes a credential by keyboard, with and without a script (reference §12.17). */
import { readFileSync, writeFileSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { previewAction } from '../test/support/agent.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { findings } from './axe.ts';
import { openBrowser, overflowOf, type Watched } from './browser.ts';
import { signedIn } from './operator.ts';
import { type Site, startSite } from './site.ts';

let site: Site;
let browser: Browser;
let file: string;
beforeAll(async () => {
  site = await startSite({ NODE_ENV: 'test', OPERATOR_TIME_ZONE: 'Europe/Berlin' });
  browser = await openBrowser();
  file = site.service.settings.credentialsFile ?? '';
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const works = async (token: string) =>
  (await previewAction(site.service, undefined, undefined, { token })).status === 200;
const tokenOn = ({ page }: Watched) => page.locator('.token code').innerText();

/** Checks the open page, and writes a picture of it if `SCREENSHOTS` names a folder. axe needs scripts. */
async function examine({ page }: Watched, name: string): Promise<void> {
  if (name.includes('plain')) return;
  expect([name, await findings(page, 'AAA')]).toEqual([name, []]);
  expect([name, await overflowOf(page)]).toEqual([name, 0]);
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/agents-${name}.png`, fullPage: true });
}

describe.each(['light', 'dark'] as const)('console credentials in %s', (scheme) => {
  const ways: [number, string][] = [
    [390, 'with a script'],
    [1280, 'with a script'],
    [390, 'without a script'],
  ];
  test.each(inTurn(ways, 2))('are issued, rotated and revoked by keyboard at %i px %s', async (width, how) => {
    const javaScript = how === 'with a script';
    const visit = await signedIn(browser, site, { javaScript, width, scheme });
    const state = `${javaScript ? 'full' : 'plain'}-${width}-${scheme}`;
    const label = `“Bee” & ${state} <b>`;
    const { page, complaints, close } = visit;
    const pressEnter = async (target: ReturnType<typeof page.getByRole>) => {
      await target.focus();
      await page.keyboard.press('Enter');
    };
    const go = (name: string | RegExp) => pressEnter(page.getByRole('link', { name }));
    const client = page.getByRole('listitem').filter({ hasText: `bee-${state}` });

    await go('Agents');
    await pressEnter(page.getByText('Issue a credential'));
    await page.getByLabel('Name').fill(`bee-${state}`);
    await page.getByLabel('Label').fill(label);
    await page.getByLabel('lead:create').uncheck();
    await page.getByLabel('lead:preview').uncheck();
    await examine(visit, `issue-${state}`);
    await pressEnter(page.getByRole('button', { name: 'Issue' }));
    await page.getByText('Choose at least one scope.').waitFor();
    expect(await page.title()).toMatch(/^Error: Agents/);
    await examine(visit, `error-${state}`);
    await page.getByLabel('lead:preview').check();
    await pressEnter(page.getByRole('button', { name: 'Issue' }));
    await page.getByRole('heading', { name: `New token for ${label}` }).waitFor();
    const first = await tokenOn(visit);
    await examine(visit, `token-${state}`);
    expect(await works(first)).toBe(true);

    await go('All agents');
    await pressEnter(client.getByText('Rotate the credential of'));
    await client.getByLabel('Old tokens still work for').selectOption('1 hour');
    await examine(visit, `rotate-${state}`);
    await pressEnter(client.getByRole('button', { name: 'Rotate' }));
    await page.getByText('Old tokens expire').waitFor();
    const second = await tokenOn(visit);
    expect(await Promise.all([first, second].map(works))).toEqual([true, true]);

    await go('All agents');
    await go(`Revoke c_1 of ${label}`);
    await page.getByRole('heading', { name: `Revoke c_1 of ${label}?` }).waitFor();
    await examine(visit, `revoke-${state}`);
    await pressEnter(page.getByRole('button', { name: 'Revoke' }));
    await page.getByText(`Revoked: c_1 of ${label}.`).waitFor();
    expect(await Promise.all([first, second].map(works))).toEqual([false, true]);
    await go(`Revoke ${label}`);
    await page.getByRole('heading', { name: `Revoke ${label}?` }).waitFor();
    await pressEnter(page.getByRole('button', { name: 'Revoke' }));
    await page.getByText(`Revoked: ${label}.`).waitFor();
    await examine(visit, `list-${state}`);
    expect(await client.count()).toBe(0);
    expect(await works(second)).toBe(false);
    // Chromium reports the refused form, with status 400.
    expect(complaints.filter((complaint) => !complaint.includes('status of 400'))).toEqual([]);
    await close();
  });
});

test('shows a token once, and not in the browser’s history', async () => {
  const visit = await signedIn(browser, site, { javaScript: true, width: 1280 });
  const { page, close } = visit;
  await page.goto('/operator/agents');
  await page.getByText('Issue a credential').click();
  await page.getByLabel('Name').fill('once');
  await page.getByRole('button', { name: 'Issue' }).click();
  const token = await tokenOn(visit);
  expect(page.url()).not.toContain(token);
  await page.getByRole('link', { name: 'All agents' }).click();
  await page.getByRole('heading', { level: 1, name: 'Agents' }).waitFor();
  // Chromium asks before it sends the form again, and shows a page of its own meanwhile.
  await page.goBack().catch(() => undefined);
  expect(await page.content()).not.toContain(token);
  await close();
});

test('the console shows unbroken commands on a phone while the service can’t change the credentials file', async () => {
  const before = readFileSync(file, 'utf8');
  writeFileSync(file, '{');
  await site.service.parts.credentials.reload();
  const visit = await signedIn(browser, site, { javaScript: true, width: 360 });
  const { page, close } = visit;
  await page.goto('/operator/agents');
  await page.getByText('The credentials file is invalid').waitFor();
  for (const details of await page.locator('.commands summary').all()) await details.click();
  await examine(visit, 'commands-360');
  const broken = `[...document.querySelectorAll('.option')].filter((element) => {
    const range = document.createRange();
    range.selectNodeContents(element);
    return new Set([...range.getClientRects()].map(({ top }) => top)).size > 1;
  }).length`;
  expect(await page.locator('.option').count()).toBeGreaterThan(1);
  expect(await page.evaluate(broken)).toBe(0);
  expect(await page.getByRole('button', { name: /Issue|Rotate|Revoke/ }).count()).toBe(0);
  writeFileSync(file, before);
  await close();
});
