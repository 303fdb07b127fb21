/** Messages about codes on the page of a confirmation (reference §6.13): code mailed, wrong code, limit reached. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { testClock } from '../support/clock.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { lookAt, mailedCode, openPage, pending, pressButton, tokenIn, wrongOf } from './rig.ts';

const MINUTE_MS = 60_000;

let mail: MailServer;
let service: Service;
const clock = testClock('2026-09-01T12:00:00.000Z');
beforeAll(async () => {
  mail = await startMailServer();
  service = await startService({ clock, environment: { SMTP_URL: mail.url } });
});
afterAll(async () => {
  await service.close();
  await mail.close();
});

const asked = (email: string, token: string = tokens.both) =>
  pending(service, { action: 'newsletter', fields: { email }, via: 'page_email', token });
const shown = async (path: string) => (await openPage(service, path)).text;
const titleOf = (html: string) => /<title>([^<]*)<\/title>/.exec(html)?.[1];
/** Returns each message above the question, without its markup. */
const noticesOf = (html: string) =>
  [...html.matchAll(/<div class="notice[\s\S]*?<\/div>/g)].map(([notice]) =>
    notice
      .replaceAll(/<[^>]*>/g, ' ')
      .replaceAll(/\s+/g, ' ')
      .trim(),
  );
/** Returns the input for the code, without its value. */
const inputOf = (html: string) => /<input id="code"[^>]*>/.exec(html)?.[0];

describe('page with an unexpired code', () => {
  test('shows where and when the newest code was mailed, until that code expires', async () => {
    clock.step(Date.parse('2026-09-01T13:05:00.000Z') - clock.now().getTime());
    const { path } = await asked('newest@example.com');
    expect(noticesOf(await shown(path))).toEqual([]);
    await pressButton(service, path, 'code');
    const first = await shown(path);
    expect(noticesOf(first)).toEqual([
      'We mailed you a code The newest code went to n•••@e•••.com 1 minute ago . Only this code is valid. Enter the code',
    ]);
    expect(titleOf(first)).toBe('We mailed you a code · Your confirmation · Paint Match');
    expect(first).toMatch(/<div class="notice calm"[^>]* tabindex="-1" autofocus>/);
    expect(await shown(path)).toBe(first);

    clock.advance(3 * MINUTE_MS);
    expect(noticesOf(await shown(path))[0]).toContain('3 minutes ago');

    await pressButton(service, path, 'code');
    const second = await shown(path);
    expect(noticesOf(second)).toEqual([
      'We mailed you another code The newest code went to n•••@e•••.com 1 minute ago . Only this code is valid. Codes mailed for this link so far: 2. Enter the code',
    ]);
    expect(titleOf(second)).toBe('We mailed you another code · Your confirmation · Paint Match');
    await pressButton(service, path, 'code');
    expect(noticesOf(await shown(path))[0]).toContain('so far: 3.');

    clock.advance(10 * MINUTE_MS);
    const later = await shown(path);
    expect([noticesOf(later), inputOf(later)]).toEqual([[], undefined]);
    expect(titleOf(later)).toBe('Your confirmation · Paint Match');
  });

  test('after a wrong code, shows the error in the title and at the field, and where the newest code went', async () => {
    const { path } = await asked('wrong@example.com');
    await pressButton(service, path, 'code');
    const code = await mailedCode(mail, clock, 'wrong@example.com');
    const { status, text } = await pressButton(service, path, 'check', { code: wrongOf(code) });
    expect([status, titleOf(text)]).toEqual([200, 'Error: Your confirmation · Paint Match']);
    expect(noticesOf(text)).toEqual([
      expect.stringMatching(
        /^This code is wrong\. You can try 4 more times\..* The newest code went to w•••@e•••\.com 1 minute ago ?\. Only this code is valid\. Enter the code$/,
      ),
    ]);
    // A fragment of the input itself would focus it without a caret in WebKit.
    expect(text).toContain('<a href="#code-field">Enter the code</a>');
    expect(text).toContain('<div class="field wrong" id="code-field">');
    expect(inputOf(text)).toContain('aria-invalid="true"');
    expect(inputOf(text)).toContain('aria-describedby="code-hint code-error"');
    expect(text).toMatch(
      /<p class="error" id="code-error"><span class="unseen">Error: <\/span>This code is wrong\.<\/p>/,
    );
    expect(text).not.toContain('wrong@example.com');
    // The page has no error if it is opened again.
    const anew = await shown(path);
    expect(anew).not.toContain('aria-invalid');
    expect(inputOf(anew)).toContain('aria-describedby="code-hint"');
    for (let left = 3; left > 1; left -= 1) {
      const more = await pressButton(service, path, 'check', { code: wrongOf(code) });
      expect(noticesOf(more.text)[0]).toContain(`You can try ${left} more times. Then this link expires`);
    }
    // After the code expires, the page has no field that the error could belong to.
    clock.advance(10 * MINUTE_MS);
    const late = await pressButton(service, path, 'check', { code });
    expect(noticesOf(late.text)).toEqual([
      'This code is wrong. You can try once more. Then this link expires, and nothing is sent.',
    ]);
    expect([titleOf(late.text), inputOf(late.text)]).toEqual([titleOf(text), undefined]);
  });
});

describe('typed code', () => {
  test.each([
    ['123456', (code: string) => code],
    ['123 456', (code: string) => `${code.slice(0, 3)} ${code.slice(3)}`],
    [' 123-456 ', (code: string) => ` ${code.slice(0, 3)}-${code.slice(3)} `],
    ['1 2 3 4 5 6', (code: string) => [...code].join('\u00a0')],
    ['a line break and dashes', (code: string) => `${[...code].join('‑')}\r\n`],
    ['invisible characters', (code: string) => `\u200b${code}\ufeff`],
  ])('shows the values if it is typed as %s', async (name, typed) => {
    const email = `typed-${name.replaceAll(/[^a-z0-9]+/g, '-')}${name.length}@example.com`;
    const { path } = await asked(email);
    expect(inputOf(await shown(path))).toBeUndefined();
    await pressButton(service, path, 'code');
    expect(inputOf(await shown(path))).toContain('inputmode="numeric"');
    // A maxlength would cut pasted text.
    expect(inputOf(await shown(path))).not.toMatch(/maxlength|pattern/);
    const code = typed(await mailedCode(mail, clock, email));
    const { status, text } = await pressButton(service, path, 'check', { code });
    expect([status, text]).toEqual([200, expect.stringContaining(email)]);
    expect(tokenIn(text)).toBeDefined();
  });

  test.each(['', '12345', '1234567', 'abcdef', '１２３４５６', 'x'.repeat(7_000)])(
    '%#: counts as a wrong code if it is not six digits',
    async (code) => {
      const { path } = await asked(`none-${code.length}-${code.charCodeAt(0)}@example.com`);
      await pressButton(service, path, 'code');
      const { status, text } = await pressButton(service, path, 'check', { code });
      expect([status, noticesOf(text)[0]]).toEqual([
        200,
        expect.stringMatching(/^This code is wrong\. You can try 4 more times\./),
      ]);
      expect(tokenIn(text)).toBeUndefined();
    },
  );
});

describe('page after too many codes', () => {
  test('states no wait beyond the end of the link, accepts the newest code, and allows to decline', async () => {
    const { path, id } = await asked('many@example.com');
    let code = '';
    for (let count = 1; count <= 3; count += 1) {
      await pressButton(service, path, 'code');
      code = await mailedCode(mail, clock, 'many@example.com', count);
    }
    const over = await pressButton(service, path, 'code');
    expect([over.status, over.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^86\d{3}$/)]);
    expect(over.text).toContain('<h1>We can’t send another code for this link.</h1>');
    expect(over.text).toContain(
      'Nothing has changed. Open the page again. The newest code is still valid, and you can still decline.',
    );
    expect(over.text).not.toMatch(/wait|second|hour/i);
    const right = await pressButton(service, path, 'check', { code });
    expect(right.text).toContain('many@example.com');

    // Another link to that mailbox has no code, and the code of this link has expired.
    const email = 'many+other@example.com';
    const fields = { name: 'Ada', email, subject: 's', message: 'm' };
    const other = await pending(service, { action: 'contact', fields, via: 'page_email' });
    clock.advance(10 * MINUTE_MS);
    for (const each of [path, other.path]) {
      const none = await pressButton(service, each, 'code');
      expect([none.status, none.headers.has('retry-after')]).toEqual([429, true]);
      expect(none.text).toContain('<h1>We can’t send a code for this link.</h1>');
      expect(none.text).not.toMatch(/newest|wait|second|hour/i);
      expect(none.text).toContain('Your details were not sent, and you can still decline.');
    }
    expect((await pressButton(service, path, 'decline')).status).toBe(303);
    expect((await lookAt(service, id)).body.confirmation.status).toBe('declined');
  });

  test('states a wait that ends before the link in minutes, and in seconds in Retry-After', async () => {
    const hour = { client: 'sender', mailbox_digest: 'of others', id: 'x' };
    const { path } = await asked('short@example.com', tokens.create);
    const asked_at = new Date(clock.now().getTime() - 44.5 * MINUTE_MS).toISOString();
    await service.parts.storage.write((tx) =>
      tx
        .insertInto('confirmation_codes')
        .values(Array.from({ length: 60 }, (_, number) => ({ ...hour, number, asked_at })))
        .execute(),
    );
    const over = await pressButton(service, path, 'code');
    expect([over.status, over.headers.get('retry-after')]).toEqual([429, '930']);
    expect(over.text).toContain('Wait 16 minutes for another one. You can still decline.');
  });
});
