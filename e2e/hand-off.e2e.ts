/** Forms that an assistant filled in by the fragment of their address, and that the person sends (reference §15.9). */
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { exampleFields, forms } from '../src/forms/catalog.ts';
import { filledPath } from '../src/routes.ts';
import { lookAt, pending } from '../test/confirmations/rig.ts';
import { quote } from '../test/support/agent.ts';
import { callTool } from '../test/support/mcp.ts';
import { findings } from './axe.ts';
import { openBrowser, openPage, overflowOf } from './browser.ts';
import { type Site, startSite } from './site.ts';

const FILLED = 'These details were filled in for you. Check them before you send. Nothing has been sent yet.';

let site: Site;
let browser: Browser;
beforeAll(async () => {
  site = await startSite();
  browser = await openBrowser();
});
afterAll(async () => {
  await browser.close();
  await site.close();
});

const visit = async (address: string, javaScript = true) => {
  const opened = await openPage(browser, site.service.url, { javaScript, width: 360 });
  const { page } = opened;
  const requests: string[] = [];
  page.on('request', (request) => requests.push(`${request.url()} ${request.postData() ?? ''}`));
  await page.goto(address);
  return { ...opened, requests };
};
/** Returns the values that the form would send now. */
const valuesOf = async (page: Page): Promise<Record<string, string>> =>
  JSON.parse(
    String(
      await page.evaluate(`JSON.stringify(Object.fromEntries(new FormData(document.querySelector('form.form'))))`),
    ),
  );
const notice = (page: Page) => page.locator('.notice');
const fragmentOf = (page: Page) => page.evaluate('location.hash');
/** Changes the fragment of the open page, as a link in the same tab does. */
const goTo = (page: Page, fragment: string) => page.evaluate(`location.hash = ${JSON.stringify(fragment)}`);
const delivered = () => site.upstream.delivered.map(({ event }) => event.data);

describe('link of prepare_form', () => {
  test('fills in the form, and the person corrects a value and sends', async () => {
    const fields = { ...quote, project_type: 'Interior', message: 'Two rooms,\nfirst floor. <b>100 %</b> & a +' };
    const input = { form: 'homeowner_quote', fields };
    const { structuredContent } = await callTool(site.service, 'prepare_form', input, {
      path: '/mcp/open',
      token: null,
    });
    const { page, requests, complaints, close } = await visit(structuredContent.url);
    expect(await valuesOf(page)).toMatchObject(fields);
    expect(await notice(page).innerText()).toBe(FILLED);
    expect(await notice(page).getAttribute('role')).toBe('status');
    expect(page.url()).toBe(`${site.service.url}/quote`);
    expect(requests.join('\n')).not.toMatch(/Lovelace|ada|first/);
    const before = delivered().length;

    await page.getByLabel('Postal code').fill('94117');
    await page.getByRole('button', { name: 'Request my quote' }).click();
    await page.waitForURL('**/thank-you');
    const [sent, ...more] = delivered().slice(before);
    expect([sent, more]).toMatchObject([
      { form: 'homeowner_quote', origin: 'browser', client: null, fields: { ...fields, postal_code: '94117' } },
      [],
    ]);
    expect(complaints).toEqual([]);
    await close();
  });

  test.each(Object.values(forms))('fills in every field of $name', async (form) => {
    const fields = exampleFields(form);
    const { page, complaints, close } = await visit(filledPath(form.page, fields));
    expect(await valuesOf(page)).toMatchObject(fields);
    expect([await page.locator('[aria-invalid=true]').count(), await page.locator(':checked').count()]).toEqual([
      0,
      form.fields.filter(({ kind }) => kind === 'choice').length,
    ]);
    expect([await findings(page, 'AAA'), await overflowOf(page), complaints]).toEqual([[], 0, []]);
    await pictured(page, form.name);
    await close();
  });
});

const pictured = async (page: Page, name: string) => {
  const folder = process.env.SCREENSHOTS;
  if (folder) await page.screenshot({ path: `${folder}/filled-${name}.png`, fullPage: true });
};

test('“Change something” on a confirmation page opens the filled-in form, which the person sends', async () => {
  const fields = { ...quote, timeline: 'Within a month' };
  const { id, path } = await pending(site.service, { fields });
  const { page, requests, complaints, close } = await visit(path);
  await page.getByRole('button', { name: 'Change something' }).click();
  await page.getByRole('heading', { name: 'Not sent' }).waitFor();
  expect([await findings(page, 'AAA'), await overflowOf(page)]).toEqual([[], 0]);
  await pictured(page, 'changed');
  await page.getByRole('link', { name: 'Open the form with my details' }).click();
  await notice(page).waitFor();
  expect(await notice(page).innerText()).toBe(FILLED);
  expect(requests.join('\n')).not.toMatch(/Lovelace|94110/);
  await page.getByLabel('Full name').fill('Ada King');
  await page.getByRole('button', { name: 'Request my quote' }).click();
  await page.waitForURL('**/thank-you');
  expect(delivered().at(-1)).toMatchObject({ origin: 'browser', fields: { ...fields, name: 'Ada King' } });
  expect((await lookAt(site.service, id)).body.confirmation.status).toBe('declined');
  expect(complaints).toEqual([]);
  await close();
});

describe('fragment of a form’s address', () => {
  test.each<[string, string, object]>([
    ['takes the last value of a repeated name', 'name=Eve&name=Ada', { name: 'Ada' }],
    [
      'removes hidden characters',
      'name=A%E2%80%AEd%E2%80%8Ba%CC%81&email=%E2%80%AAada%40example.com',
      { name: 'Ada\u0301', email: 'ada@example.com' },
    ],
    ['folds a postal code', 'postal_code=%EF%BC%99%EF%BC%94110', { postal_code: '94110' }],
    [
      'ignores unknown names, the honeypot, the form and prototype names',
      'name=Ada&form=contact&bot-field=x&__proto__=x&constructor=x&send-again=x',
      { form: 'homeowner_quote', 'bot-field': '', name: 'Ada' },
    ],
    ['sets a choice that is an option', 'timeline=Just+planning', { timeline: 'Just planning' }],
    [
      'writes line breaks into a text, and blanks into a line',
      'message=a%0D%0Ab&name=a%0Ab',
      { message: 'a\nb', name: 'a b' },
    ],
    ['shows markup as text', 'name=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E', { name: '<img src=x onerror=alert(1)>' }],
  ])('%s', async (_name, fragment, values) => {
    const { page, complaints, close } = await visit(`/quote#${fragment}`);
    const filled = await valuesOf(page);
    expect(filled).toMatchObject(values);
    expect(Object.keys(filled).sort()).toEqual([...new Set([...EMPTY, ...Object.keys(values)])].sort());
    expect(complaints).toEqual([]);
    await close();
  });

  test('sets no choice that is not an option of the form', async () => {
    const { page, close } = await visit('/quote#name=Ada&timeline=Tomorrow');
    expect([await valuesOf(page), await page.locator(':checked').count()]).toEqual([
      expect.objectContaining({ name: 'Ada' }),
      0,
    ]);
    await close();
  });

  test('never ticks the box of the consent', async () => {
    const { page, close } = await visit('/newsletter#email=ada%40example.com&privacy=yes&privacy=on');
    expect(await valuesOf(page)).toEqual({ email: 'ada@example.com', 'bot-field': '' });
    await page.getByRole('button', { name: 'Subscribe' }).click();
    await page.getByText('Please tick the box.').first().waitFor();
    await close();
  });

  test('fills in a value over its limit completely, and shows the form’s error at its field', async () => {
    const [message, company] = ['🎨'.repeat(2_001), 'x'.repeat(201)];
    const fits = { name: `${'ü'.repeat(100)}${'\u00ad'.repeat(9)}${'ü'.repeat(99)}`, email: 'ada@example.com' };
    const { page, close } = await visit(filledPath('contractors', { ...fits, company, message }));
    expect(await valuesOf(page)).toMatchObject({ company, message });
    const marked = page.locator('[aria-invalid=true]');
    expect([await marked.count(), await page.locator('.error').allTextContents()]).toEqual([
      2,
      [
        'Error: “Company” has 201 characters, and the limit is 200. Please shorten it.',
        'Error: “What would you like to see?” has 2,001 characters, and the limit is 2,000. Please shorten it.',
      ],
    ]);
    await page.getByLabel('Company').fill('Paint');
    expect(await marked.count()).toBe(1);
    await close();
  });

  test('shows an error for an e-mail address over its limit', async () => {
    const { page, close } = await visit(`/contact#email=${'a'.repeat(60)}@${'b.'.repeat(120)}example`);
    expect(await page.locator('.error').allTextContents()).toEqual([expect.stringContaining('E-mail address')]);
    await close();
  });

  test('is handled by the browser if it contains no field name of the form', async () => {
    for (const fragment of ['#field-email', '#main', '#company=x', '#name', '#__proto__=x']) {
      const { page, close } = await visit(`/quote${fragment}`);
      expect([await fragmentOf(page), await notice(page).count()]).toEqual([fragment, 0]);
      if (fragment === '#field-email') {
        await page.keyboard.type('ada');
        expect(await valuesOf(page)).toMatchObject({ email: 'ada' });
      }
      await close();
    }
  });

  test('is read again if it changes on an open page, and replaces the earlier values', async () => {
    const { page, close } = await visit('/quote#name=Ada&phone=1&timeline=Just+planning');
    await goTo(page, 'name=Eve&email=e%40x.example&project_type=Exterior');
    const values = { form: 'homeowner_quote', name: 'Eve', email: 'e@x.example', project_type: 'Exterior' };
    await expect
      .poll(() => valuesOf(page))
      .toEqual({ ...values, postal_code: '', phone: '', message: '', 'bot-field': '' });
    expect([await fragmentOf(page), await notice(page).count()]).toEqual(['', 1]);
    // The first click on an option that was removed chooses it.
    await page.getByText('Just planning').click();
    expect(await valuesOf(page)).toMatchObject({ timeline: 'Just planning' });
    await close();
  });

  test.each<[string, (page: Page) => Promise<unknown>]>([
    ['typed', (page) => page.getByLabel('E-mail address').fill('mine@example.com')],
    ['ticked the consent', (page) => page.getByLabel(/^I agree/).check()],
  ])('is not read after the person has %s', async (_name, enter) => {
    const { page, close } = await visit('/newsletter#email=ada%40example.com');
    await enter(page);
    const before = await valuesOf(page);
    await goTo(page, 'email=eve%40example.com');
    await page.evaluate('new Promise((resolve) => setTimeout(resolve, 50))');
    expect(await valuesOf(page)).toEqual(before);
    await close();
  });

  test('allows a suggested mail domain to be accepted, and a filled-in choice to be cleared with a click', async () => {
    const { page, close } = await visit('/quote#email=ada%40gmial.com&timeline=Just+planning');
    await page.getByRole('button', { name: 'ada@gmail.com' }).click();
    await page.getByText('Just planning').click();
    const values = await valuesOf(page);
    expect([values.email, values.timeline]).toEqual(['ada@gmail.com', undefined]);
    await close();
  });

  test('does nothing without a script: the form is empty and can be sent', async () => {
    const { page, close } = await visit('/contact#name=Eve&email=eve%40example.com', false);
    const fields = page.locator('.field input, .field textarea');
    expect(
      await fields.evaluateAll((all) => all.map((each) => (each as unknown as { value: string }).value).join('')),
    ).toBe('');
    const before = delivered().length;
    for (const [label, text] of Object.entries({
      'Full name': 'Ada',
      'E-mail address': 'a@x.example',
      Subject: 'S',
      Message: 'M',
    })) {
      await page.getByLabel(label, { exact: true }).fill(text);
    }
    await page.locator('form.form button[type=submit]').click();
    await page.waitForURL('**/thank-you');
    expect(delivered().slice(before)).toMatchObject([{ fields: { name: 'Ada', email: 'a@x.example' } }]);
    await close();
  });
});

/** Names that the empty form of a quote sends. */
const EMPTY = ['form', 'name', 'email', 'postal_code', 'phone', 'message', 'bot-field'];
