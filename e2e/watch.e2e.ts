import { rmSync } from 'node:fs';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ServiceProcess, spawnService, untilItAnswers } from '../test/support/process.ts';
import { openBrowser, openPage } from './browser.ts';

// The other files expect no complaints. This file shows that openPage records them.

let service: ServiceProcess;
let browser: Browser;

beforeAll(async () => {
  service = await spawnService();
  await untilItAnswers(service);
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await service.end();
  rmSync(service.dataDir, { recursive: true, force: true });
});

const script = '<script>console.error("canary")</script>';
const style = '<p style="color: red">x</p>';
const picture = '<img src="http://127.0.0.1:9/x.png">';

test.each([
  ['a script in the page', script, true, /policy: script-src/],
  ['a style in the page', style, true, /policy: style-src/],
  ['a picture of another origin', picture, true, /policy: img-src/],
  ['a style in the page, without JavaScript', style, false, /console: .*style-src/],
  ['a picture of another origin, without JavaScript', picture, false, /console: .*img-src/],
])('openPage records %s', async (_name, markup, javaScript, complaint) => {
  const { page, complaints, close } = await openPage(browser, service.url, {
    javaScript,
    width: 1280,
  });
  // The original page, with the markup inserted on its way to the browser.
  await page.route('**/quote', async (route) => {
    const response = await route.fetch();
    const html = (await response.text()).replace('</main>', `${markup}</main>`);
    await route.fulfill({ response, body: html });
  });
  await page.goto('/quote');
  await expect.poll(() => complaints).toContainEqual(expect.stringMatching(complaint));
  await close();
});

test('openPage records a request to another origin and a failed request', async () => {
  const { page, complaints, close } = await openPage(browser, service.url, {
    javaScript: true,
    width: 1280,
  });
  await page.goto('/quote');
  await page.goto('http://127.0.0.1:9/').catch(() => {});
  expect(complaints).toContainEqual('elsewhere: http://127.0.0.1:9/');
  expect(complaints).toContainEqual(expect.stringMatching(/^failed: /));
  await close();
});
