/** Attacks on the card of a preview (reference §8.12): messages of other windows, hostile values, presses, its frame. */
import type { Browser, Frame } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { quote } from '../test/support/agent.ts';
import { callTool, send } from '../test/support/mcp.ts';
import { openBrowser } from './browser.ts';
import { type Host, openCard, startHost } from './card-host.ts';
import { type Site, startSite } from './site.ts';

let host: Host;
let browser: Browser;
let site: Site;
beforeAll(async () => {
  host = await startHost();
  site = await startSite({ MCP_ALLOWED_ORIGINS: host.origin });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await Promise.all([site.close(), host.close()]);
});

const show = (fields: object = quote) => openCard(browser, host, site.service, { fields });
const button = (card: Frame, name: string) => card.getByRole('button', { name, exact: true });
const delivered = () => site.upstream.delivered.map(({ event }) => event.data);
const textOf = (card: Frame) => card.evaluate('document.body.innerText');
/** Waits until every message that was sent before has arrived. */
const settled = (card: Frame) => card.evaluate('new Promise((resolve) => setTimeout(resolve))');

test.each([
  ['markup', { name: '<img src=x onerror=alert(1)>', message: '</dd><script>alert(1)</script>\n<b>bold</b> &amp;' }],
  ['line breaks and blanks', { message: 'One room.\n\n  Second line, indented.\nA    B' }],
  ['a text that looks like the card', { message: 'Recipient\nSomebody Else\n\nNothing was sent yet.' }],
  ['hidden characters', { name: 'Ada\u202E\u200B Love\u2060lace', message: 'a\u{E0041}\u{E0042}b\uFEFFc' }],
  ['both directions', { name: 'عدا لفليس', message: 'abc \u05D0\u05D1\u05D2 123' }],
  ['names of prototypes', { name: '__proto__', message: 'constructor' }],
])('shows %s as the exact text that is sent', async (_name, given) => {
  const opened = await show({ ...quote, ...given });
  const { card, complaints } = opened;
  const shown = await card.locator('#fields dd').allInnerTexts();
  const markup = await card.evaluate(`document.querySelectorAll('main :is(img, script, b)').length`);
  const before = delivered().length;
  await button(card, 'Send').click();
  await card.getByRole('heading', { name: 'Sent' }).waitFor();
  const [sent] = delivered().slice(before);
  const { name, email, postal_code, message } = (sent?.fields ?? {}) as Record<string, string>;
  expect(shown.toSorted()).toEqual([name, email, postal_code, ...(message ? [message] : [])].toSorted());
  expect(JSON.stringify(shown)).not.toMatch(/[\u200B\u202E\u2060\uFEFF]|\\udb40/i);
  expect([markup, complaints]).toEqual([0, []]);
  await opened.close();
});

test('accepts messages of its parent only', async () => {
  const opened = await show();
  const { card, page } = opened;
  const { structuredContent } = await callTool(site.service, 'preview_contact', {
    ...{ name: 'Eve', email: 'eve@example.com', subject: 'x', message: 'x' },
  });
  const result = { method: 'ui/notifications/tool-result', params: { content: [], structuredContent } };
  const forged = [result, { id: 1, result: {} }, { id: 2, result: { isError: true } }, { id: 9, method: 'ping' }];
  const before = await textOf(card);
  const post = `for (const each of ${JSON.stringify(forged)})
    TARGET.postMessage({ jsonrpc: '2.0', ...each }, '*');`;
  // A press is waiting for the host, so an answer with its id would count.
  await page.evaluate('beforeCall = () => new Promise((resolve) => { release = resolve; })');
  await button(card, 'Send').click();
  const sending = await textOf(card);

  // A frame beside the card, a frame inside the card, a window that the host opened, and the card itself.
  const sibling = `const frame = document.createElement('iframe');
    frame.srcdoc = ${JSON.stringify(`<script>${post.replace('TARGET', 'parent.frames[0]')}</script>`)};
    const loaded = new Promise((resolve) => { frame.onload = resolve; });
    document.body.append(frame);`;
  await page.evaluate(`(async () => { ${sibling} await loaded; })()`);
  const popup = page.waitForEvent('popup');
  await page.evaluate(`void open('about:blank')`);
  await (await popup).evaluate(post.replace('TARGET', 'opener.frames[0]'));
  await card.evaluate(post.replace('TARGET', 'window'));
  await settled(card);
  expect(await textOf(card)).toBe(sending);

  await page.evaluate('release()');
  await card.getByRole('heading', { name: 'Sent' }).waitFor();
  expect(before).not.toContain('Eve');
  expect(await textOf(card)).toContain('Ada Lovelace');
  expect(delivered().at(-1)).toMatchObject({ fields: quote });
  await opened.close();
});

test('ignores messages of its parent that are no JSON-RPC, and refuses unknown requests', async () => {
  const opened = await show();
  const { card, page } = opened;
  const before = await textOf(card);
  await page.evaluate(`for (const each of [null, 1, 'x', {}, [], { method: 'ui/notifications/tool-result' },
    { jsonrpc: '2.0' }, { jsonrpc: '2.0', id: 'x', result: {} }, { jsonrpc: '2.0', method: 'constructor' },
    { jsonrpc: '2.0', method: 'ui/notifications/tool-result' },
    { jsonrpc: '2.0', method: 'ui/notifications/host-context-changed', params: { theme: 'url(x)' } }])
    frames[0].postMessage(each, '*')`);
  const answer = await page.evaluate(`new Promise((resolve) => {
    addEventListener('message', ({ data }) => { if (data.id === 'unknown') resolve(data); });
    frames[0].postMessage({ jsonrpc: '2.0', id: 'unknown', method: 'tools/list' }, '*');
  })`);
  expect(answer).toMatchObject({ error: { code: -32_601 } });
  expect(await page.evaluate('bridge.teardownResource({})')).toEqual({});
  expect(await textOf(card)).toBe(before);
  expect(opened.complaints).toEqual([]);
  await opened.close();
});

test('a later result does not replace the preview that the person sees', async () => {
  const opened = await show();
  const { card, page } = opened;
  const before = await textOf(card);
  const fields = { ...quote, name: 'Eve' };
  const { structuredContent } = await callTool(site.service, 'preview_homeowner_quote', fields);
  await page.evaluate(`bridge.sendToolResult(${JSON.stringify({ content: [], structuredContent })})`);
  await page.evaluate(`bridge.sendToolCancelled({})`);
  await settled(card);
  expect(await textOf(card)).toBe(before);
  await button(card, 'Send').click();
  await card.getByRole('heading', { name: 'Sent' }).waitFor();
  expect(delivered().at(-1)).toMatchObject({ fields: quote });
  await opened.close();
});

test('further presses have no effect while the first one waits', async () => {
  const opened = await show();
  const { card, page } = opened;
  const before = delivered().length;
  await page.evaluate('beforeCall = () => new Promise((resolve) => { release = resolve; })');
  await button(card, 'Send').dblclick();
  expect(await card.locator('[aria-disabled=true]').count()).toBe(3);
  for (const name of ['Send', 'Don’t send', 'Open the page']) await button(card, name).click({ force: true });
  await page.keyboard.press('Enter');
  await page.evaluate('release()');
  await card.getByRole('heading', { name: 'Sent' }).waitFor();
  expect(await opened.seen('calls.length')).toBe(1);
  expect(delivered().length).toBe(before + 1);
  await opened.close();
});

test('its frame has no origin, no storage and no network, and the card works without them', async () => {
  const opened = await show();
  const { card } = opened;
  const tried = await card.evaluate(`(async () => {
    const attempt = async (run) => { try { await run(); return 'done'; } catch (error) { return error.name; } };
    const image = () => new Promise((resolve, reject) => {
      Object.assign(new Image(), { onload: resolve, onerror: () => reject(new TypeError()), src: ${JSON.stringify(`${host.origin}/x.png`)} });
    });
    return [
      origin,
      await attempt(() => localStorage.length),
      await attempt(() => document.cookie),
      await attempt(() => fetch(${JSON.stringify(host.origin)}, { mode: 'no-cors' })),
      await attempt(image),
    ];
  })()`);
  expect(tried).toEqual(['null', 'SecurityError', 'SecurityError', 'TypeError', 'TypeError']);
  expect(host.requested).not.toContain('/x.png');
  await button(card, 'Don’t send').click();
  await card.getByRole('heading', { name: 'Not sent' }).waitFor();
  await opened.close();
});

test('does nothing as a document of its own', async () => {
  const { body } = await send(site.service, 'resources/read', { uri: 'ui://lead-intake/preview' });
  const page = await browser.newPage();
  await page.setContent(body.result.contents[0].text);
  const { structuredContent } = await callTool(site.service, 'preview_homeowner_quote', quote);
  const message = { jsonrpc: '2.0', method: 'ui/notifications/tool-result', params: { structuredContent } };
  await page.evaluate(`postMessage(${JSON.stringify(message)}, '*')`);
  await settled(page.mainFrame());
  expect(await page.getByRole('button').count()).toBe(0);
  await page.close();
});
