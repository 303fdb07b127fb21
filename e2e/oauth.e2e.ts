/** A person connects a host: the page follows the redirect, also without a script, and is never framed (reference §26.4). */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { lookupHere, startDocumentServer, trustCertificate } from '../test/oauth/document-server.ts';
import { queryOf } from '../test/oauth/rig.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { type Service, startService, tokens } from '../test/support/service.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { everySurroundings } from './surroundings.ts';

let service: Service;
let browser: Browser;
let host: Awaited<ReturnType<typeof startDocumentServer>>;
/** A program on the person's computer, with addresses of IPv4 and IPv6. */
let program: Server;
let requests: string[] = [];
beforeAll(async () => {
  trustCertificate();
  host = await startDocumentServer();
  service = await startService({
    environment: { NODE_ENV: 'test', OAUTH_HOSTS: 'localhost' },
    parts: { publicLookup: lookupHere },
  });
  browser = await openBrowser();
  program = createServer((request, response) => {
    requests.push(request.url ?? '');
    const frames = `<iframe src="${service.url}/oauth/authorize${queryOf(service)}"></iframe>`;
    const popup = `<button onclick="window.open('${service.url}${address()}')">Open</button>
      <script>onmessage = ({ data }) => document.body.append(data)</script>`;
    const done = `<h1>Connected</h1><script>opener?.postMessage('The host knows', '*')</script>`;
    const page = request.url === '/frame' ? frames : request.url === '/popup' ? popup : done;
    // The program sends the browser on to another path, as hosts do.
    if (request.url?.startsWith('/callback')) response.writeHead(302, { location: '/done' }).end();
    else response.setHeader('content-type', 'text/html').end(page);
  });
  await new Promise<void>((resolve) => program.listen(0, '::', resolve));
});
beforeEach(() => {
  requests = [];
});
afterAll(async () => {
  program.close();
  await browser.close();
  await service.close();
  host.close();
});

const port = () => (program.address() as AddressInfo).port;
const address = (changes: Record<string, string> = {}) => {
  const redirect_uri = `http://127.0.0.1:${port()}/callback`;
  return `/oauth/authorize${queryOf(service, { redirect_uri, ...changes })}`;
};
const open = (javaScript = true) => openPage(browser, service.url, { javaScript, width: 360 });

describe('page on which a person connects a host', () => {
  test.each(['127.0.0.1', 'localhost', '[::1]'])('leads back to a program at %s, with a code', async (name) => {
    for (const javaScript of [true, false]) {
      const { page, close } = await open(javaScript);
      await page.goto(address({ redirect_uri: `http://${name}:${port()}/callback` }));
      await page.getByRole('button', { name: 'Connect' }).click();
      await page.getByRole('heading', { name: 'Connected' }).waitFor();
      expect(requests.find((each) => each.startsWith('/callback'))).toMatch(
        /^\/callback\?code=[\w-]{43}&state=any\+state&iss=/,
      );
      await close();
      requests = [];
    }
  });

  test('takes the token by keyboard after a wrong one, and “Cancel” needs none', async () => {
    const { page, close } = await open(false);
    await page.goto(address({ client_id: host.address }));
    await page.getByLabel('The token that the operator gave you').fill('a guess');
    await page.keyboard.press('Enter');
    await page.getByRole('alert').getByText('This token is wrong or expired.').waitFor();
    expect(await page.title()).toMatch(/^Error: /);
    await page.getByLabel('The token that the operator gave you').fill(tokens.both);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    await page.goto(address({ client_id: host.address }));
    await page.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('heading', { name: 'Connected' }).waitFor();
    expect(requests.filter((each) => each.includes('error=access_denied'))).toHaveLength(1);
    await close();
  });

  test('lets a host that opened it in a window of its own learn the end', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(`http://127.0.0.1:${port()}/popup`);
    const opening = page.waitForEvent('popup');
    await page.getByRole('button', { name: 'Open' }).click();
    await (await opening).getByRole('button', { name: 'Connect' }).click();
    await page.getByText('The host knows').waitFor();
    await context.close();
  });

  test('is not shown in a frame of another site', async () => {
    const context = await browser.newContext();
    const page = await context.newPage();
    const refused = page.waitForEvent('console', (message) => message.text().includes('frame-ancestors'));
    await page.goto(`http://127.0.0.1:${port()}/frame`);
    await refused;
    expect(await page.frameLocator('iframe').getByRole('button', { name: 'Connect' }).count()).toBe(0);
    await context.close();
  });

  const withScript = everySurroundings.filter(([, { javaScript }]) => javaScript);
  test.each(inTurn(withScript, 3))('is accessible and fits at %s', async (_name, surroundings) => {
    const { page, complaints, close } = await openPage(browser, service.url, surroundings);
    await page.goto(address({ client_id: host.address }));
    expect(await findings(page, 'AAA')).toEqual([]);
    expect(await overflowOf(page)).toBe(0);
    expect(complaints).toEqual([]);
    const folder = process.env.SCREENSHOTS;
    const { width, scheme } = surroundings;
    if (folder) await page.screenshot({ path: `${folder}/oauth-${width}-${scheme}.png`, fullPage: true });
    await close();
  });
});
