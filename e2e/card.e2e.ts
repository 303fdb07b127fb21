/** The card of a preview in a sandboxed frame of a host that others wrote (reference §8.12). */
import type { Browser, Frame, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../src/actions/preview.ts';
import { openPage as openConfirmation, pressButton } from '../test/confirmations/rig.ts';
import { quote } from '../test/support/agent.ts';
import { callTool } from '../test/support/mcp.ts';
import { answering } from '../test/support/upstream.ts';
import { findings } from './axe.ts';
import { openBrowser } from './browser.ts';
import { type Card, type Host, openCard, startHost } from './card-host.ts';
import { type Site, startSite } from './site.ts';

let host: Host;
let browser: Browser;
let site: Site;
let strict: Site;
beforeAll(async () => {
  host = await startHost();
  const environment = { MCP_ALLOWED_ORIGINS: host.origin };
  site = await startSite(environment);
  strict = await startSite({ ...environment, CONFIRMATION_MINIMUM: 'page' });
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await Promise.all([site.close(), strict.close(), host.close()]);
});

type Options = Parameters<typeof openCard>[3];
const show = (options?: Options, on = site) => openCard(browser, host, on.service, options);
const button = (card: Frame, name: string) => card.getByRole('button', { name, exact: true });
const buttonsOf = (card: Frame) => card.getByRole('button').allInnerTexts();
const outcome = (card: Frame) => card.getByRole('status');
const delivered = ({ upstream } = site) => upstream.delivered.map(({ event }) => event.data);
const ALL = ['Send', 'Don’t send', 'Open the page'];

/** Presses a button and waits for the outcome with this title. */
async function press({ card }: Card, name: string, title: string) {
  await button(card, name).click();
  await card.getByRole('heading', { name: title, exact: true }).waitFor();
}

/** Takes a picture into the folder `SCREENSHOTS`, if there is one. */
async function pictured(page: Page, name: string) {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/card-${name}.png`, fullPage: true });
}

describe('card', () => {
  test.each(['2026-07-28', '2025-11-25'] as const)(
    'shows the preview, sends it once and tells the model, in a host of revision %s',
    async (revision) => {
      const opened = await show({ revision });
      const { card, page, requests, complaints } = opened;
      expect(await opened.seen('revision')).toBe(revision);
      const shown = await card.locator('dl, #statement').allInnerTexts();
      expect(shown.join('\n').split(/\n+/)).toEqual([
        ...['Recipient', 'Vetted Painters'],
        ...['Full name', quote.name, 'E-mail address', quote.email, 'Postal code', quote.postal_code],
        ...['By sending, you state:', CONFIRMATION_STATEMENT],
      ]);
      expect(await outcome(card).innerText()).toContain('Nothing was sent yet.');
      expect(await buttonsOf(card)).toEqual(ALL);
      const before = delivered().length;

      await press(opened, 'Send', 'Sent');
      expect(delivered().slice(before)).toMatchObject([{ origin: 'agent', fields: quote }]);
      expect(await outcome(card).innerText()).toMatch(/Reference: [\dA-Z]{4}-[\dA-Z]{4}$/);
      expect(await buttonsOf(card)).toEqual([]);
      const { preview_id } = opened.result.structuredContent;
      expect(await opened.seen('calls')).toEqual([
        { name: 'submit_from_card', arguments: { preview_id, decision: 'send' } },
      ]);
      expect(await opened.seen('contexts[0][0].text')).toContain('It was sent.');
      expect(await opened.seen('initialized')).toBe(1);
      // The host's own client sends all requests.
      expect(new Set(requests)).toEqual(new Set(['POST /mcp']));
      expect(complaints).toEqual([]);
      expect(await page.evaluate('document.activeElement.tagName')).toBe('IFRAME');
      expect(await card.evaluate('document.activeElement.id')).toBe('outcome');
      await opened.close();
    },
  );

  test('“Don’t send” declines, and the preview can’t be sent afterwards', async () => {
    const opened = await show();
    const before = delivered().length;
    await press(opened, 'Don’t send', 'Not sent');
    expect(await outcome(opened.card).innerText()).toBe('Not sent\n\nYou declined. Nothing was sent.');
    expect(await buttonsOf(opened.card)).toEqual([]);
    expect(await opened.seen('contexts[0][0].text')).toContain('(confirmation_declined)');
    const { preview_id } = opened.result.structuredContent;
    const input = { preview_id, confirmation: true, confirmation_text: CONFIRMATION_STATEMENT };
    const again = await callTool(site.service, 'submit', input);
    expect([again.isError, delivered().length]).toEqual([true, before]);
    await opened.close();
  });

  test('“Open the page” opens the confirmation page, whose answer the card shows when it is pressed again', async () => {
    const opened = await show();
    await press(opened, 'Open the page', 'Answer on the page');
    expect(await buttonsOf(opened.card)).toEqual(['Open the page']);
    const [link = ''] = await opened.seen<string[]>('links');
    const { origin, pathname } = new URL(link);
    expect(origin).toBe(site.service.settings.baseUrl);
    expect((await openConfirmation(site.service, pathname)).text).toContain('Ada Lovelace');
    // The model learns how to get the result, but not the link, which it could open.
    const told = await opened.seen<string>('contexts[0][0].text');
    expect(told).toContain('get_receipt');
    expect(told).not.toContain('/confirm/');

    await pressButton(site.service, pathname, 'send');
    await press(opened, 'Open the page', 'Sent');
    expect(await opened.seen('links')).toEqual([link]);
    await opened.close();
  });

  test('shows the address as text in a host that opens no links', async () => {
    const opened = await show({ links: false });
    await press(opened, 'Open the page', 'Answer on the page');
    const [link] = await opened.seen<string[]>('links');
    expect(await opened.card.locator('code').innerText()).toBe(link);
    await opened.close();
  });

  test('has “Open the page” only if the action must be confirmed on the page', async () => {
    const opened = await show({}, strict);
    expect(opened.result._meta['lead-intake/minimum']).toBe('page');
    expect(await buttonsOf(opened.card)).toEqual(['Open the page']);
    expect(await outcome(opened.card).innerText()).toContain('Confirm on the page');
    await pictured(opened.page, 'minimum');
    await press(opened, 'Open the page', 'Answer on the page');
    const [link = ''] = await opened.seen<string[]>('links');
    await pressButton(strict.service, new URL(link).pathname, 'send');
    expect(delivered(strict)).toMatchObject([{ fields: quote }]);
    await opened.close();
  });

  test('leads to the page in a host that renders cards, but does not declare MCP Apps', async () => {
    const opened = await show({ declares: false });
    expect(await buttonsOf(opened.card)).toEqual(ALL);
    const before = delivered().length;
    await press(opened, 'Send', 'Confirm on the page');
    expect([await buttonsOf(opened.card), delivered().length]).toEqual([['Open the page'], before]);
    await press(opened, 'Open the page', 'Answer on the page');
    expect(await opened.seen('links.length')).toBe(1);
    await opened.close();
  });

  test('says that details may not have arrived if the destination does not confirm', async () => {
    site.upstream.answer = answering(500);
    const opened = await show();
    await press(opened, 'Send', 'Your details may not have arrived');
    site.upstream.answer = answering(200);
    expect(await buttonsOf(opened.card)).toEqual([]);
    await opened.close();
  });

  test('keeps the buttons after an answer that the host lost, and a second press sends nothing twice', async () => {
    const opened = await show();
    const before = delivered().length;
    await opened.page.evaluate(`beforeCall = () => Promise.reject(new Error('lost'))`);
    await press(opened, 'Send', 'That did not work');
    expect(await buttonsOf(opened.card)).toEqual(ALL);
    await opened.page.evaluate('beforeCall = undefined');
    await press(opened, 'Send', 'Sent');
    expect(delivered().length).toBe(before + 1);
    await opened.close();
  });

  test('offers nothing to send after a refused or cancelled preview, and shows the next good one', async () => {
    const opened = await show({ fields: { name: 'Ada' } });
    await opened.card.getByRole('heading', { name: 'There is nothing to send' }).waitFor();
    expect(await buttonsOf(opened.card)).toEqual([]);
    await opened.page.evaluate(`bridge.sendToolCancelled({ reason: 'user' })`);
    const { structuredContent } = await callTool(site.service, 'preview_homeowner_quote', quote);
    await opened.page.evaluate(`bridge.sendToolResult(${JSON.stringify({ content: [], structuredContent })})`);
    await button(opened.card, 'Send').waitFor();
    await opened.close();
  });

  test.each([
    [320, 'light', undefined],
    [320, 'dark', undefined],
    [360, 'dark', 'light'],
    [720, 'light', 'dark'],
    [1280, 'light', undefined],
    [1280, 'dark', undefined],
  ] as const)('is accessible at %i px in the scheme %s with the theme %s of the host', async (width, scheme, theme) => {
    const fields = { ...quote, message: `One room.\n\n${'https://example.com/'.padEnd(90, 'x')}` };
    const opened = await show({ width, scheme, fields, ...(theme && { theme }) });
    const { card, page } = opened;
    expect(await findings(card as unknown as Page, 'AAA')).toEqual([]);
    expect(await card.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    const sizes = `[...document.querySelectorAll('button')].every((each) => each.getBoundingClientRect().height >= 44)`;
    expect(await card.evaluate(sizes)).toBe(true);
    const ground = await card.evaluate('getComputedStyle(document.body).backgroundColor');
    expect(ground).toBe((theme ?? scheme) === 'dark' ? 'rgb(25, 28, 41)' : 'rgb(255, 255, 255)');
    await pictured(page, `${width}-${scheme}-${theme}`);
    await press(opened, 'Send', 'Sent');
    expect(await findings(card as unknown as Page, 'AAA')).toEqual([]);
    await pictured(page, `${width}-${scheme}-${theme}-sent`);
    await opened.close();
  });

  test('can be used with the keyboard alone', async () => {
    const opened = await show();
    const { card, page } = opened;
    await page.locator('iframe').focus();
    const focused: unknown[] = [];
    for (let n = 0; n < 3; n += 1) {
      await page.keyboard.press('Tab');
      focused.push(await card.evaluate('document.activeElement.textContent'));
    }
    expect(focused).toEqual(ALL);
    await page.keyboard.press('Shift+Tab');
    await page.keyboard.press('Enter');
    await card.getByRole('heading', { name: 'Not sent' }).waitFor();
    expect(await card.evaluate('document.activeElement.id')).toBe('outcome');
    await opened.close();
  });
});
