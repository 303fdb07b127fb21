import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Form, forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { StorageUnavailable } from '../src/storage/database.ts';
import { answering } from '../test/support/upstream.ts';
import { openBrowser, openPage, overflowOf, type Surroundings } from './browser.ts';
import { breakUpstream, CONTACT, type Site, startSite } from './site.ts';
import { everySurroundings, surroundingsInTurn } from './surroundings.ts';
import { answersTo, fillIn } from './visitor.ts';

let site: Site;
let unconfigured: Site;
let unreached: Site;
let browser: Browser;

beforeAll(async () => {
  site = await startSite();
  unconfigured = await startSite({ UPSTREAM_URL: '' });
  unreached = await startSite({ UPSTREAM_URL: 'http://127.0.0.1:1/', REDELIVERY: 'off' });
  browser = await openBrowser();
});
afterEach(() => {
  site.upstream.answer = answering(200);
});
afterAll(async () => {
  await browser.close();
  await site.close();
  await unconfigured.close();
  await unreached.close();
});

let visitors = 0;
const newAddress = () => {
  visitors += 1;
  return `visitor-${visitors}@example.com`;
};
const press = (page: Page) => page.locator('form button[type=submit]').click();
const arrivedFrom = (email: string) =>
  site.upstream.delivered.filter(({ event }) => (event.data.fields as Record<string, string>).email === email);

/** Returns the messages that Chromium logs for these statuses. No others may appear. */
const only = (...statuses: number[]) =>
  statuses.map((status) => expect.stringMatching(`^console: .* status of ${status} `));

/** Serves the form from before the deployment closed it. A post then gets 503. */
async function openWhileTaken(page: Page, form: Form): Promise<void> {
  const { path } = pathsOfPage(form.page);
  await page.route(`**${path}`, async (route) => {
    await route.fulfill({ response: await route.fetch({ url: site.service.url + path }) });
  });
}

/** Returns the values in the form, by the name of the field. */
async function standingIn(page: Page, form: Form): Promise<Record<string, string>> {
  const entries = form.fields.map(async ({ name, kind }): Promise<[string, string]> => {
    const one = page.locator(kind === 'choice' ? `[name="${name}"]:checked` : `form [name="${name}"]`);
    return [name, kind === 'choice' ? ((await one.getAttribute('value')) ?? '') : await one.inputValue()];
  });
  return Object.fromEntries(await Promise.all(entries));
}

/** Returns the text of the notice on top. Expects it to be focused, announced and in the title. */
async function noticeOn(page: Page): Promise<string> {
  const notice = page.locator('form > .notice[role=alert]');
  await notice.waitFor();
  expect(await page.title()).toMatch(/^Error: /);
  await page.locator('form > .notice:focus').waitFor();
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  return (await notice.innerText()).replace(/\s+/g, ' ');
}

/** Returns the text of the page about a stored submission. Expects neither a form nor the word "error". */
async function storedOn(page: Page): Promise<string> {
  await page.getByRole('heading', { level: 1, name: 'We have your request' }).waitFor();
  expect(await page.title()).toMatch(/^We have your request/);
  expect(await page.locator('form').count()).toBe(0);
  const text = (await page.locator('body').innerText()).replace(/\s+/g, ' ');
  expect(text).not.toMatch(/error/i);
  expect(await overflowOf(page)).toBeLessThanOrEqual(0);
  return text;
}

describe.each(surroundingsInTurn)('result of a form, %s', (_name, how: Surroundings) => {
  test('every form succeeds', async () => {
    const { page, complaints, close } = await openPage(browser, site.service.url, how);
    for (const form of Object.values(forms)) {
      const email = newAddress();
      await page.goto(pathsOfPage(form.page).path);
      await fillIn(page, form, answersTo(form, email));
      await press(page);
      await page.waitForURL('**/thank-you');
      expect(arrivedFrom(email), form.name).toHaveLength(1);
    }
    expect(complaints).toEqual([]);
    await close();
  });

  test('each kind of invalid value is reported at its field, and the corrected form is sent', async () => {
    const { page, complaints, close } = await openPage(browser, site.service.url, how);
    const form = forms.contractor_signup;
    const wrong = {
      ...answersTo(form, 'ada@example'),
      name: ' ',
      company: 'x'.repeat(201),
      message: 'é'.repeat(2_001),
    };
    await page.goto(pathsOfPage(form.page).path);
    await fillIn(page, form, wrong);
    await press(page);
    expect(await noticeOn(page)).toContain('Please check what you entered');
    const sentences = [
      'Please fill in “Full name”.',
      'Please check “E-mail address”: it should look like name@example.com.',
      '“Company” has 201 characters, and the limit is 200. Please shorten it.',
      '“What would you like to see?” has 2,001 characters, and the limit is 2,000. Please shorten it.',
    ];
    const links = page.locator('.notice a');
    expect(await links.allInnerTexts()).toEqual(sentences);
    expect((await page.locator('.field .error').allInnerTexts()).map((text) => text.replace(/^Error:\s*/, ''))).toEqual(
      sentences,
    );
    expect(await standingIn(page, form)).toEqual(wrong);

    await links.first().click();
    // Without a script the link leads to the field, and one Tab into its control, in every browser.
    if (!how.javaScript) await page.keyboard.press('Tab');
    await page.locator('#field-name:focus').waitFor();
    await page.keyboard.type('Ada');
    expect(await page.locator('#field-name').inputValue()).toContain('Ada');
    expect(new URL(page.url()).hash).toBe(how.javaScript ? '#field-name' : '#name-field');
    await fillIn(page, form, answersTo(form, newAddress()));
    await press(page);
    await page.waitForURL('**/thank-you');
    expect(complaints).toEqual(how.javaScript ? [] : only(413));
    await close();
  });

  test('a subscription without consent or with an invalid address is refused', async () => {
    const { page, close } = await openPage(browser, site.service.url, how);
    await page.goto('/newsletter');
    await page.getByLabel('E-mail address').fill('ada@example');
    // Without JavaScript, the browser itself requires the checkbox.
    if (!how.javaScript) await page.getByLabel(/^I agree/).check();
    await press(page);
    const said = await noticeOn(page);
    expect(said).toContain('Please check “E-mail address”');
    if (how.javaScript) expect(said).toContain('Please tick the box');
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('ada@example');
    await close();
  });

  test('502 of a stored form shows “We have your request” with what happens next, and no form', async () => {
    const { page, complaints, close } = await openPage(browser, site.service.url, how);
    const form = forms.homeowner_quote;
    breakUpstream(site);
    await page.goto(pathsOfPage(form.page).path);
    await fillIn(page, form, answersTo(form, newAddress()));
    await press(page);
    const said = await storedOn(page);
    expect(said).toMatch(
      /don’t need to send it again\. Your reference: [0-9A-HJKMNP-TV-Z]{4}-[0-9A-HJKMNP-TV-Z]{4} What happens next .*Vetted Painters.*two working days/,
    );
    expect(await page.locator('.prose a').getAttribute('href')).toBe(`mailto:${CONTACT}`);

    if (how.javaScript) {
      await page.reload();
      await page.getByText('You have sent this already').waitFor();
    }
    expect(complaints).toEqual(only(502));
    await close();
  });

  test('502 without redelivery says that the operator takes care of the form', async () => {
    const { page, complaints, close } = await openPage(browser, unreached.service.url, how);
    const form = forms.homeowner_quote;
    await page.goto(pathsOfPage(form.page).path);
    await fillIn(page, form, answersTo(form, newAddress()));
    await press(page);
    const said = await storedOn(page);
    expect(said).toMatch(/could not pass your request on.*The operator of this site, Paint Match, takes care of it/);
    expect(said).not.toMatch(/twice|may not have|try again/);
    expect(complaints).toEqual(only(502));
    await close();
  });

  test('502 of a stored subscription shows no reference and no time of an answer', async () => {
    const { page, close } = await openPage(browser, site.service.url, how);
    const form = forms.newsletter;
    breakUpstream(site);
    await page.goto(pathsOfPage(form.page).path);
    await fillIn(page, form, answersTo(form, newAddress()));
    await press(page);
    const said = await storedOn(page);
    expect(said).toContain('one message that asks you to confirm');
    expect(said).not.toMatch(/reference|working days|minutes/);
    await close();
  });

  test('503 keeps the answers and says that nothing was sent', async () => {
    const { page, complaints, close } = await openPage(browser, unconfigured.service.url, how);
    const form = forms.contact;
    const answers = answersTo(form, newAddress());
    await openWhileTaken(page, form);
    await page.goto(pathsOfPage(form.page).path);
    await fillIn(page, form, answers);
    await press(page);
    expect(await noticeOn(page)).toMatch(/Nothing was sent.*typed is still here.*later/);
    expect(await standingIn(page, form)).toEqual(answers);
    expect(await page.getByRole('button', { name: 'Send again' }).count()).toBe(1);
    expect(complaints).toEqual(only(503));
    await close();
  });

  test('a double click sends once', async () => {
    const { page, complaints, close } = await openPage(browser, site.service.url, how);
    const form = forms.homeowner_quote;
    const email = newAddress();
    const posts = () => site.service.logs.filter((line) => line.includes('"route":"/api/leads"'));
    const before = posts().length;
    // The second click comes while the first request waits for its answer.
    const clickedTwice = Promise.withResolvers<void>();
    site.upstream.answer = (response) => void clickedTwice.promise.then(() => response.writeHead(200).end());
    await page.goto(pathsOfPage(form.page).path);
    await fillIn(page, form, answersTo(form, email));
    const button = page.locator('form button[type=submit]');
    await button.scrollIntoViewIfNeeded();
    const { x, y } = (await button.boundingBox()) ?? { x: 0, y: 0 };
    await page.mouse.click(x + 20, y + 20);
    await sleep(120);
    await page.mouse.click(x + 20, y + 20);
    await sleep(120);
    clickedTwice.resolve();
    await vi.waitFor(() => expect(page.url()).toMatch(/\/thank-you$/), 5_000);
    await vi.waitFor(() => expect(posts().length - before).toBe(how.javaScript ? 1 : 2), 5_000);
    expect(arrivedFrom(email)).toHaveLength(1);
    expect(complaints).toEqual([]);
    await close();
  });
});

describe.each(everySurroundings.filter(([, { width, scheme }]) => width === 360 && scheme === 'light'))(
  'result of a form without a store or a network, %s',
  (_name, how) => {
    test.each([
      ['an upstream that confirms nothing', () => site, /may not have arrived.*simply gets it twice/],
      ['an unreachable upstream', () => unreached, /were not sent.*Nothing was sent\./],
    ] as const)(
      'without the store and with %s, 502 keeps the answers and says whether they may have arrived',
      async (_upstream, broken, sentence) => {
        const { service } = broken();
        const { storage } = service.parts;
        const { read, write } = storage;
        const { page, close } = await openPage(browser, service.url, how);
        const form = forms.contact;
        const answers = answersTo(form, newAddress());
        await page.goto(pathsOfPage(form.page).path);
        await fillIn(page, form, answers);
        breakUpstream(site);
        const away = () => Promise.reject(new StorageUnavailable('away'));
        Object.assign(storage, { read: away, write: away });
        await press(page);
        const said = await noticeOn(page);
        Object.assign(storage, { read, write });
        expect(said).toMatch(sentence);
        expect(said).toContain('Everything you typed is still here');
        expect(await standingIn(page, form)).toEqual(answers);
        await close();
      },
    );

    test('offline, the form keeps its answers and can be sent later', async () => {
      const { page, close } = await openPage(browser, site.service.url, how);
      const form = forms.contact;
      const answers = answersTo(form, newAddress());
      await page.goto(pathsOfPage(form.page).path);
      await fillIn(page, form, answers);
      await page.context().setOffline(true);
      await press(page);
      if (how.javaScript) {
        expect(await noticeOn(page)).toMatch(/You seem to be offline.*probably did not arrive/);
      } else {
        await page.waitForURL('chrome-error://**');
        await page.goBack();
      }
      expect(await standingIn(page, form)).toEqual(answers);
      await page.context().setOffline(false);
      await press(page);
      await page.waitForURL('**/thank-you');
      expect(arrivedFrom(answers.email ?? '')).toHaveLength(1);
      await close();
    });
  },
);
