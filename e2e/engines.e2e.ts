/** The same stories in Chromium, Firefox and WebKit, over HTTPS. */
import PostalMime from 'postal-mime';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { type Form, forms } from '../src/forms/catalog.ts';
import { pathsOfPage } from '../src/routes.ts';
import { lookAt, pending, wrongOf } from '../test/confirmations/rig.ts';
import { type MailServer, startMailServer } from '../test/mail/mail-server.ts';
import { reader, rowOf, subscribe } from '../test/newsletter/rig.ts';
import { quote } from '../test/support/agent.ts';
import { freePort } from '../test/support/free-port.ts';
import { inTurn } from '../test/support/in-turn.ts';
import { freshAddress } from '../test/support/service.ts';
import { allRows, keepRows, recentRow } from '../test/support/submissions.ts';
import { until } from '../test/support/until.ts';
import type { Engine, Visit } from './engines/engine.ts';
import { type Front, startFront } from './engines/front.ts';
import { startChromium, startFirefox } from './engines/puppeteer.ts';
import { startWebKit } from './engines/webkit.ts';
import { type Site, startSite } from './site.ts';
import { answersTo } from './visitor.ts';

const OPERATOR = 'jo@paint.example';

/** WebKit's driver sometimes stops answering. No other error gets a second attempt. */
const DRIVER_STOPPED = /^Test timed out|session ID|WebDriver/;

let mail: MailServer;
let site: Site;
let front: Front;
let origin: string;
/** The service without the proxy, for requests of agents. */
let direct: { url: string };
beforeAll(async () => {
  const port = await freePort();
  origin = `https://localhost:${port}`;
  mail = await startMailServer();
  site = await startSite({
    ...{ BASE_URL: origin, SMTP_URL: mail.url, MAIL_FROM: 'Paint Match <hello@paint.example>' },
    ...{ OPERATORS: OPERATOR, OPERATOR_CONSOLE: 'on', OPERATOR_TIME_ZONE: 'Europe/Berlin', REDELIVERY: 'off' },
  });
  direct = { url: `http://127.0.0.1:${site.service.settings.port}` };
  front = await startFront(port, site.service.settings.port);
});
afterAll(async () => {
  front.close();
  await site.close();
  await mail.close();
});

/** Returns the text of the last message to an address, once it has arrived. */
async function mailTo(address: string, count = 1): Promise<string> {
  const own = () => mail.received.filter(({ to }) => to.includes(address));
  await until(() => own().length >= count, 20_000);
  return (await PostalMime.parse(own().at(-1)?.raw ?? '')).text ?? '';
}

/** Returns the address of ours in a text that contains these words. */
const linkIn = (text: string, words: string) =>
  text.split(/\s+/).find((word) => word.startsWith(origin) && word.includes(words)) ?? expect.fail(text);

const arrivedFrom = (email: string) =>
  site.upstream.delivered.filter(({ event }) => (event.data.fields as Record<string, string>).email === email);

describe.each([
  ['Chromium', startChromium],
  ['Firefox', startFirefox],
  ['WebKit', startWebKit],
])('%s', { timeout: 30_000, retry: { count: 1, condition: DRIVER_STOPPED } }, (name, start) => {
  let engine: Engine;
  /** Number of attempts at all tests, so that a second attempt uses new addresses. */
  let attempt = 0;
  beforeAll(async () => {
    engine = await start();
  });
  beforeEach(() => {
    attempt += 1;
  });
  afterEach(() => opened?.close());
  afterAll(() => engine.close());

  let opened: Visit | undefined;
  /** Opens a page as a new person. */
  async function visit(path: string, scripts = true): Promise<Visit> {
    Object.assign(front, { address: freshAddress(), scripts });
    opened = await engine.visit();
    await opened.open(new URL(path, origin).href);
    return opened;
  }
  const shows = (visit: Visit, selector: string) => expect.poll(() => visit.text(selector));
  const emailOf = (word: string) => `${word}-${name}${attempt}@example.com`.toLowerCase();

  async function fillIn(visit: Visit, form: Form, answers: Record<string, string>): Promise<void> {
    for (const field of form.fields) {
      const answer = answers[field.name] ?? '';
      if (field.kind === 'choice') await visit.click(`[name="${field.name}"][value="${answer}"]`);
      else await visit.fill(`#field-${field.name}`, answer);
    }
    if (form.name === 'newsletter') await visit.click('[name=privacy]');
  }
  const SEND = 'form.form button[type=submit]';

  test.each(inTurn(Object.values(forms), 2))(
    '$page refuses an empty form, and sends it once it is filled in',
    async (form) => {
      const page = await visit(pathsOfPage(form.page).path);
      await page.click(SEND);
      await shows(page, '.notice').toContain('Please check');
      await page.click('.notice a');
      await page.type('Ada');
      await expect.poll(() => page.value('.field input')).toBe('Ada');
      const email = emailOf(form.name);
      await fillIn(page, form, answersTo(form, email));
      await page.click(SEND);
      await shows(page, 'main').toContain('Sent at');
      expect(await page.address()).toBe(`${origin}/thank-you`);
      expect(arrivedFrom(email)).toHaveLength(1);
    },
  );

  test('a form that the server refuses keeps its answers, without scripts', async () => {
    const form = forms.contractor_signup;
    const email = emailOf('native');
    const page = await visit(pathsOfPage(form.page).path, false);
    await fillIn(page, form, answersTo(form, 'ada@example'));
    await page.click(SEND);
    await shows(page, '.notice').toContain('Please check “E-mail address”');
    // This is the page of the server.
    expect(await page.address()).toBe(`${origin}/api/leads`);
    expect(await page.value('#field-company')).toBe(answersTo(form, email).company);
    await page.fill('#field-email', email);
    await page.click(SEND);
    await shows(page, 'h1').toBe('Thank you');
    expect(arrivedFrom(email)).toHaveLength(1);
  });

  test('the confirmation page sends after the right code, and not after a wrong one', async () => {
    const fields = { ...quote, email: emailOf('code') };
    const { id, path } = await pending(direct, { fields, via: 'page_email' });
    const page = await visit(path);
    await page.click('[name=do][value=code]');
    await shows(page, '.notice').toContain('We mailed you a code');
    const [code = ''] = /\d{6}/.exec(await mailTo(fields.email)) ?? [];
    await page.fill('#code', wrongOf(code));
    await page.click('[name=do][value=check]');
    await shows(page, '.notice').toContain('This code is wrong.');
    expect(await page.text('main')).not.toContain('Lovelace');
    // The link leads to the field, and one Tab into its input.
    await page.click('.notice a');
    await page.tab();
    await page.type(code);
    await page.click('[name=do][value=check]');
    await shows(page, '.details').toContain('Ada Lovelace');
    await page.click('[name=do][value=send]');
    await shows(page, 'h1').toBe('Your details were sent');
    expect((await lookAt(direct, id)).body.confirmation.status).toBe('submitted');
    expect(arrivedFrom(fields.email)).toHaveLength(1);
  });

  test('“Change something” on the confirmation page leads to the form, filled in', async () => {
    const { id, path } = await pending(direct, { fields: { ...quote, email: emailOf('change') } });
    const page = await visit(path);
    await page.click('[name=do][value=change]');
    await shows(page, '.actions a').not.toBe('');
    await page.click('.actions a');
    await expect.poll(() => page.value('#field-name')).toBe('Ada Lovelace');
    expect(await page.address()).toBe(`${origin}/quote`);
    expect((await lookAt(direct, id)).body.confirmation.status).toBe('declined');
  });

  test('the links of the newsletter confirm and unsubscribe', async () => {
    const email = reader();
    expect(await subscribe(direct, email)).toBe(200);
    const text = await mailTo(email);
    const page = await visit(linkIn(text, '/newsletter/confirm/'));
    await page.click('main button');
    await shows(page, 'h1').toBe('You are subscribed');
    expect((await rowOf(site.service, email))?.status).toBe('confirmed');
    await page.open(linkIn(text, '/newsletter/leave/'));
    await page.click('main button');
    await shows(page, 'h1').toBe('You are unsubscribed');
    expect((await rowOf(site.service, email))?.status).toBe('unsubscribed');
  });

  test('the operator signs in by mail, marks leads, undoes it, writes a note and signs out', async () => {
    const { storage } = site.service.parts;
    const rows = [1, 2, 3].map((n) =>
      recentRow({ fields: { name: `Painter ${n}`, email: emailOf(`lead${n}`), message: 'Hello' } }),
    );
    await keepRows(storage, rows);
    const stored = async () => {
      const ids = rows.map(({ id }) => id);
      return (await allRows(storage)).filter(({ id }) => ids.includes(id));
    };
    const sent = mail.received.filter(({ to }) => to.includes(OPERATOR)).length;
    const list = `/operator/leads?q=painter+${name.toLowerCase()}${attempt}`;
    const page = await visit(list);
    await page.fill('#email', OPERATOR);
    await page.click('main button');
    await shows(page, 'h1').toBe('Check your mail');
    await page.open(linkIn(await mailTo(OPERATOR, sent + 1), '/operator/sign-in/'));
    await page.click('main button');
    await shows(page, 'main').toContain('3 leads');
    expect(await page.address()).toBe(origin + list);
    expect(await page.cookie('__Host-operator')).toMatchObject({ secure: true, httpOnly: true });

    for (const n of [1, 2, 3]) await page.click(`.leads li:nth-child(${n}) input`);
    await page.click('.bulk [value=answered]');
    await shows(page, '.result').toContain('3 leads marked as answered.');
    expect((await stored()).map(({ progress }) => progress)).toEqual(['answered', 'answered', 'answered']);
    await page.click('.result button');
    await shows(page, '.result').toContain('Undone for 3 leads.');
    expect((await stored()).map(({ progress }) => progress)).toEqual(['new', 'new', 'new']);

    const [first] = rows;
    await page.open(`${origin}/operator/leads/${first?.id}`);
    await page.click('.progress [value=won]');
    await shows(page, '.result').toContain('1 lead marked as won.');
    await page.fill('#note', 'Called.\nWants Tuesday.');
    await page.click('.note-form button');
    await shows(page, '.result').toContain('The note was saved.');
    expect(await page.value('#note')).toBe('Called.\nWants Tuesday.');
    expect((await stored()).find(({ id }) => id === first?.id)).toMatchObject({
      progress: 'won',
      note: 'Called.\nWants Tuesday.',
    });

    await page.click('details.session summary');
    await page.click('details.session [value=sign-out]');
    await shows(page, 'h1').toBe('Sign in');
    expect(await page.cookie('__Host-operator')).toBeUndefined();
    await page.back();
    // The browser stores no page of the console, so it asks the service, which asks for a sign-in.
    await expect.poll(() => page.address()).toContain(`?page=%2Foperator%2Fleads%2F${first?.id}`);
    await shows(page, 'h1').toBe('Sign in');
    expect(await page.text('body')).not.toContain('Painter');
  });
});
