import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Browser, devices, type Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, describe, expect, test, vi } from 'vitest';
import { forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { leadForms } from '../test/support/forms.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { answering } from '../test/support/upstream.ts';
import { openBrowser, openPage } from './browser.ts';
import { plantError, type Site, startSite } from './site.ts';
import { answersTo, fillIn } from './visitor.ts';

let site: Site;
let browser: Browser;

beforeAll(async () => {
  site = await startSite();
  browser = await openBrowser();
});
afterEach(() => {
  site.upstream.answer = answering(200);
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const how = { javaScript: true, width: 360 };
const press = (page: Page) => page.locator('form button[type=submit]').click();
const filled = async (form = forms.contact, other: Record<string, string> = {}) => {
  const opened = await openPage(browser, site.service.url, how);
  await opened.page.goto(pathsOfPage(form.page).path);
  await fillIn(opened.page, form, { ...answersTo(form, 'ada@example.com'), ...other });
  return opened;
};

describe('checks of the script', () => {
  test('run at the first attempt to send, and afterwards while the person types', async () => {
    const { page, complaints, close } = await openPage(browser, site.service.url, how);
    await page.goto('/quote');
    const email = page.getByLabel('E-mail address');
    const error = page.locator('#field-email-error');
    await email.pressSequentially('ada');
    await email.blur();
    expect(await error.count()).toBe(0);

    await press(page);
    expect(await error.innerText()).toContain('should look like name@example.com');
    expect(await email.getAttribute('aria-describedby')).toBe('field-email-hint field-email-error');
    expect(await email.getAttribute('aria-invalid')).toBe('true');
    await email.pressSequentially('@example.co');
    await error.waitFor({ state: 'detached' });
    expect(await email.getAttribute('aria-describedby')).toBe('field-email-hint');
    expect(await email.getAttribute('aria-invalid')).toBe('false');

    await email.fill('');
    await email.blur();
    expect(await error.innerText()).toContain('Please fill in “E-mail address”.');
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(
    inTurn(
      [
        'ada@example.co.uk',
        "o'neil+list@mail.example",
        'ada@bücher.example',
        '\u200eada@example.com',
        'ａｄａ＠example.com',
        // The blank Braille cell, which the server removes.
        'ada\u2800@example.com\u2800',
      ],
      2,
    ),
  )('accept %s, as the server does', async (email) => {
    const { page, close } = await filled(forms.newsletter, { email });
    await press(page);
    await page.waitForURL('**/thank-you');
    await close();
  });

  test.each(inTurn(['ada', 'ada@example', 'ada@example..com', 'a b@example.com', 'ada@-example.com'], 2))(
    'reject %s, as the server does',
    async (email) => {
      const { page, close } = await filled(forms.newsletter, { email });
      await press(page);
      expect(await page.locator('.notice a').innerText()).toContain('name@example.com');
      await close();
    },
  );

  test('count code points: accept 2,000 emoji and reject 2,001', async () => {
    const { page, close } = await filled(forms.contact, { message: '🎨'.repeat(2_001) });
    await press(page);
    expect(await page.locator('.notice a').innerText()).toContain('2,001 characters');
    await page.getByLabel('Message').fill(` ${'🎨'.repeat(1_000)}${'\u00ad'.repeat(200)}${'🎨'.repeat(999)}\n`);
    await press(page);
    await page.waitForURL('**/thank-you');
    await close();
  });

  test.each([
    ['a run of blank Braille cells', forms.contact, { subject: `A${'\u2800'.repeat(3_000)}b` }],
    ['invisible characters between blanks', forms.contact, { message: `A${' \u00ad'.repeat(1_500)}b` }],
    [
      'invisible characters in a postal code',
      forms.homeowner_quote,
      { postal_code: `9${'\u00ad\u2800'.repeat(1_500)}4110` },
    ],
    [
      'invisible characters in a telephone number',
      forms.contractor_signup,
      { phone: `1${'\u2060\u2800'.repeat(90)}2` },
    ],
  ])('send %s, which the server shortens', async (_what, form, other) => {
    const { page, close } = await filled(form, other);
    await press(page);
    await page.waitForURL('**/thank-you');
    await close();
  });

  test.each(inTurn(leadForms, 3))('show the field of $name that the server refuses as too long', async (form) => {
    for (const { name, maximum, kind } of form.fields) {
      if (kind === 'choice' || kind === 'email') continue;
      const { page, close } = await filled(form, { [name]: '5'.repeat(maximum + 1) });
      await press(page);
      const links = page.locator('.notice a');
      await links.first().waitFor();
      expect(await links.allInnerTexts()).toEqual([
        expect.stringContaining(`${(maximum + 1).toLocaleString('en')} char`),
      ]);
      expect(await links.getAttribute('href')).toBe(`#field-${name}`);
      await close();
    }
  });

  test('show a refusal of the server with the labels of the page', async () => {
    const { page, close } = await filled(forms.contact, { subject: 'A\u0007bell' });
    await press(page);
    expect(await page.locator('.notice a').innerText()).toBe(
      '“Subject” contains characters that we can’t accept. Please type it again.',
    );
    expect(await page.locator('#field-subject-error').count()).toBe(1);
    await close();
  });
});

describe('focus, which WebKit needs for a caret', () => {
  /** Records each call of `focus()` and `blur()`, because Chromium sets the caret without them. */
  const recorded = async (page: Page) => {
    await page.addInitScript({
      content: `window.calls = [];
        for (const name of ['focus', 'blur']) {
          const own = HTMLElement.prototype[name];
          HTMLElement.prototype[name] = function (...given) {
            calls.push(name + ' ' + this.id + ' ' + location.hash);
            return own.apply(this, given);
          };
        }`,
    });
    return () => page.evaluate('calls.splice(0)');
  };

  test('is set before a link of the error summary moves to its control', async () => {
    const { page, close } = await openPage(browser, site.service.url, how);
    const calls = await recorded(page);
    await page.goto('/contact');
    await press(page);
    await calls();
    await page.locator('.notice a').nth(1).click();
    expect(await calls()).toEqual(['focus field-email ']);
    expect(new URL(page.url()).hash).toBe('#field-email');
    await page.keyboard.type('ada');
    expect(await page.getByLabel('E-mail address').inputValue()).toBe('ada');
    await close();
  });

  test('is set again at the control that the fragment of the page’s address names', async () => {
    const { page, close } = await openPage(browser, site.service.url, how);
    const calls = await recorded(page);
    await page.goto('/contact#field-name');
    await page.locator('#field-name:focus').waitFor();
    expect(await calls()).toEqual(['blur field-name #field-name', 'focus field-name #field-name']);
    await page.keyboard.type('Ada');
    expect(await page.getByLabel('Full name').inputValue()).toBe('Ada');
    await close();
  });
});

test('the counter shows the remaining characters near the limit', async () => {
  const { page, close } = await filled(forms.contact, { message: 'x'.repeat(1_700) });
  const counter = page.locator('.counter');
  const message = page.getByLabel('Message');
  expect(await counter.innerText()).toBe('');
  await message.fill('x'.repeat(1_950));
  expect(await counter.innerText()).toBe('50 characters left');
  await message.fill('x'.repeat(2_003));
  expect(await counter.innerText()).toBe('3 characters too many');
  await page.locator('.unseen[role=status]', { hasText: '3 characters too many' }).waitFor();
  await close();
});

describe('suggested correction of the mail domain', () => {
  test.each(
    inTurn(
      [
        ['ada@gmial.com', 'ada@gmail.com'],
        ['ada@gmail.con', 'ada@gmail.com'],
        ['ada@hotmal.com', 'ada@hotmail.com'],
        ['ada@gmailcom', 'ada@gmail.com'],
        ['ada@paint.con', 'ada@paint.com'],
      ],
      2,
    ),
  )('is offered for %s', async (written, meant) => {
    const { page, close } = await filled(forms.contact, { email: written });
    await page.getByRole('button', { name: meant }).click();
    expect(await page.getByLabel('E-mail address').inputValue()).toBe(meant);
    expect(await page.locator('.suggestion').innerText()).toBe('');
    await close();
  });

  test.each(inTurn(['ada@gmail.com', 'ada@ymail.com', 'ada@mail.com', 'ada@yahoo.ca', 'ada@paint.example'], 2))(
    'is not offered for %s',
    async (email) => {
      const { page, close } = await filled(forms.contact, { email });
      expect(await page.locator('.suggestion').innerText()).toBe('');
      await close();
    },
  );

  test('does not change the address unless the person accepts it', async () => {
    const { page, close } = await filled(forms.contact, { email: 'ada@gmial.com' });
    await press(page);
    await page.waitForURL('**/thank-you');
    expect(site.upstream.delivered.at(-1)?.event.data.fields).toMatchObject({
      email: 'ada@gmial.com',
    });
    await close();
  });
});

describe('while the form is sent', () => {
  test('the button shows the progress, a slow answer shows a message, and another click does nothing', async () => {
    const { page, complaints, close } = await filled();
    const before = site.upstream.delivered.length;
    site.upstream.answer = (response) => setTimeout(() => response.writeHead(200).end(), 4_000);
    await press(page);
    const button = page.getByRole('button', { name: 'Sending…' });
    expect(await button.getAttribute('aria-disabled')).toBe('true');
    await page.locator('#field-name').press('Enter');
    await page.getByText('Still sending.').waitFor();
    await page.waitForURL('**/thank-you');
    expect(site.upstream.delivered.length - before).toBe(1);
    expect(complaints).toEqual([]);

    // After going back, the form has its answers and can be sent again.
    await page.goBack();
    await page.getByRole('button', { name: 'Send again' }).waitFor();
    expect(await page.getByLabel('Subject').inputValue()).toBe('A question about my request');
    await close();
  });

  test('a broken connection shows that the result is unknown and keeps all answers', async () => {
    const { page, close } = await filled();
    await page.route('**/api/leads', (route) => route.abort('connectionreset'));
    await press(page);
    expect(await page.locator('.notice').innerText()).toMatch(/was interrupted[\s\S]*can’t tell whether/);
    expect(await page.getByLabel('Message').inputValue()).toBe('When can I expect an answer?');
    await page.unroute('**/api/leads');
    await page.getByRole('button', { name: 'Send again' }).click();
    await page.waitForURL('**/thank-you');
    await close();
  });

  test('a redirect by a proxy to a page does not count as success', async () => {
    const { page, close } = await filled();
    const before = site.upstream.delivered.length;
    await page.route('**/api/leads', (route) => route.fulfill({ status: 302, headers: { location: '/privacy' } }));
    await press(page);
    expect(await page.locator('.notice').innerText()).toContain('may not have arrived');
    expect(page.url()).toMatch(/\/contact$/);
    expect(site.upstream.delivered.length).toBe(before);
    await close();
  });

  test('the script reads the whole answer before it opens the next page', async () => {
    const { page, close } = await filled();
    let whole: boolean | undefined;
    const slow = createServer((_request, response) => {
      response.on('close', () => {
        whole = response.writableFinished;
      });
      response.writeHead(200, { 'content-type': 'application/json' }).write('{"ok":');
      setTimeout(() => response.end('true}'), 500);
    });
    await new Promise<void>((resolve) => slow.listen(0, '127.0.0.1', resolve));
    const { port } = slow.address() as AddressInfo;
    await page.route('**/api/leads', (route) => route.continue({ url: `http://127.0.0.1:${port}/` }));
    await press(page);
    await page.waitForURL('**/thank-you');
    await vi.waitFor(() => expect(whole).toBe(true));
    await close();
    slow.close();
  });

  test('an unexpected error shows the same message as an unconfirmed delivery', async () => {
    const { page, close } = await filled();
    const mend = plantError(site);
    await press(page);
    expect(await page.locator('.notice').innerText()).toContain('may not have arrived');
    mend();
    await close();
  });
});

test('a person sends a quote on a phone by touch', async () => {
  const context = await browser.newContext({
    ...devices['Pixel 7'],
    baseURL: site.service.url,
    extraHTTPHeaders: { 'x-forwarded-for': '192.0.2.77' },
  });
  const page = await context.newPage();
  await page.goto('/quote');
  await page.getByLabel('Full name').fill('Ada Lovelace');
  await page.getByLabel('E-mail address').fill('ada@example.com');
  await page.getByLabel('Postal code').fill('94110');
  await page.getByText('Interior and exterior').tap();
  await page.getByText('Within a month').tap();
  await page.getByRole('button', { name: 'Request my quote' }).tap();
  await page.waitForURL('**/thank-you');
  expect(site.upstream.delivered.at(-1)?.event.data.fields).toMatchObject({
    project_type: 'Interior and exterior',
    timeline: 'Within a month',
  });
  await context.close();
});
