/** Pages with a secret in their address never send it as a `Referer`. */
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { pending } from '../test/confirmations/rig.ts';
import { linkFor } from '../test/console/operator.ts';
import { newSubscriber } from '../test/newsletter/rig.ts';
import { openBrowser, openPage } from './browser.ts';
import { type Site, startSite } from './site.ts';

let site: Site;
let browser: Browser;
beforeAll(async () => {
  site = await startSite({ NODE_ENV: 'test' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

test.each([
  ['a confirmation', async () => (await pending(site.service)).path],
  ['a newsletter link', async () => `/newsletter/confirm/${(await newSubscriber(site.service)).confirm_token}`],
  ['a sign-in link', () => linkFor(site.service)],
])(
  'the Referer contains only the origin if the page of %s loads files or a link on it is opened',
  async (_page, pathOf) => {
    const { url } = site.service;
    const how = { javaScript: true, width: 360 };
    const { page, complaints, close } = await openPage(browser, url, how);
    await page.goto(await pathOf());
    const asked: Promise<[string, string | undefined]>[] = [];
    page.on('request', (request) => {
      const path = new URL(request.url()).pathname;
      asked.push(request.allHeaders().then(({ referer }) => [path, referer]));
    });
    await page.reload({ waitUntil: 'networkidle' });
    const files = await Promise.all(asked);
    expect(files.map(([path]) => path)).toEqual(
      expect.arrayContaining([expect.stringMatching(/\.css$/), expect.stringMatching(/\.svg$/)]),
    );
    await page.locator('.brand').click();
    // A request that begins after this has no answer once the browser is closed.
    await page.waitForLoadState('networkidle');
    page.removeAllListeners('request');
    const referers = (await Promise.all(asked)).slice(1).map(([, referer]) => referer);
    expect([...new Set(referers)].filter((referer) => referer !== undefined)).toEqual([`${url}/`]);
    expect(complaints).toEqual([]);
    await close();
  },
);
