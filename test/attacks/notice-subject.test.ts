/** A notice's subject has typed text: no name makes a header, an encoded word or another direction of it (CWE-93). */
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { alertEmail, keep, notifyEmail, openInstance, submission } from '../notices/operator-mail.ts';
import { testClock } from '../support/clock.ts';
import { databases } from '../support/databases.ts';
import { leadForms, post } from '../support/forms.ts';
import { freshAddress, type Service, startService } from '../support/service.ts';

const HOUR = 60 * 60_000;
const clock = testClock();
/** A client address of its own, because leads have a rate. */
const from = () => ({ 'x-forwarded-for': freshAddress() });
let server: MailServer;
const closers: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  server = await startMailServer();
  closers.push(server.close);
});
afterAll(async () => {
  for (const close of closers.reverse()) await close();
});

/** Headers of a notice, in their order. */
const HEADERS = [
  ...['auto-submitted', 'from', 'to', 'reply-to', 'subject', 'message-id', 'date'],
  ...['content-transfer-encoding', 'mime-version', 'content-type'],
];

/** Expects a notice with our headers alone. Returns its subject as a mail program decodes it. */
async function subjectOf(raw: string): Promise<string> {
  const mail = await PostalMime.parse(raw);
  expect(mail.headers.map(({ key }) => key)).toEqual(HEADERS);
  expect([mail.to, mail.cc, mail.bcc]).toEqual([[{ name: '', address: notifyEmail }], undefined, undefined]);
  expect([mail.html, mail.attachments]).toEqual([undefined, []]);
  const [head = ''] = raw.split('\r\n\r\n');
  expect(head).toMatch(/^[\x20-\x7e\r\n]*$/);
  for (const line of head.split('\r\n')) expect(line.length).toBeLessThan(998);
  const subject = mail.subject ?? '';
  expect([...subject].length).toBeLessThanOrEqual(100);
  expect(subject).not.toMatch(/[\p{Cc}\p{Bidi_Control}\u2028\u2029\p{Surrogate}]/u);
  expect(subject.isWellFormed()).toBe(true);
  // A program that decodes twice finds nothing more to decode.
  const encoded = `Subject: ${subject.replace(/[^ -~]/gu, 'x')}\r\n\r\n`;
  expect((await PostalMime.parse(encoded)).subject).toBe(subject.replace(/[^ -~]/gu, 'x').trim());
  return subject;
}

describe('subject of a notice, from rows with any text', () => {
  const pieces = fc.constantFrom(
    ...['a', 'Ada', ' ', '  ', '\t', ',', ':', '"', "'", '<b>', '\\', '?', '=', '_', '(', ')', '…'],
    ...['\r\n', '\n', '\r', '\0', '\v', '\x85', '\u2028', '\r\n ', '\r\n\t', '%0d%0a', '\r\nBcc: c@d.example\r\n'],
    ...['=?utf-8?Q?=0D=0ABcc=3A_c@d.example?=', '=?utf-8?B?4oCu?=', '=?utf-8?q?=E2=80=AE?=', '?=', '=?', '=\u200e?'],
    ...['\u202e', '\u2066', '\u2069', '\u200e', '\u200f', '\u061c', '\u200d', '\ufeff', '\ud83d', '\ude00', '\uffff'],
    ...['محمد', 'שלום', 'é', 'e\u0301', '👩‍👩‍👧', '🇩🇪', '李', 'Рaint', 'ﬀ', '\u{e0041}'],
  );
  const typed = fc.oneof(fc.string({ unit: pieces, maxLength: 12 }), fc.string({ unit: pieces, maxLength: 400 }));

  test('has at most 100 code points, no control and no added header, for any name and place', async () => {
    const [, create = expect.fail()] = databases[0] ?? [];
    const database = await create();
    const storage = await database.open(clock);
    const { outbox, tell } = await openInstance(storage, clock, server);
    closers.push(database.remove, storage.close, outbox.close);
    const form = fc.constantFrom(...leadForms.map(({ name }) => name));
    await fc.assert(
      fc.asyncProperty(typed, typed, form, async (name, place, form) => {
        clock.advance(HOUR);
        const fields = { name, email: 'ada@canary.example', postal_code: place, company: place, message: name };
        const row = submission({ form }, { fields });
        await keep(storage, row);
        await tell(row);
        await outbox.work();
        const raw = server.received.at(-1)?.raw ?? '';
        expect(raw).toContain(row.id);
        expect(await subjectOf(raw)).toMatch(new RegExp(`(^|: )${form.replace('_', ' ')}$`));
        // Each line of ours begins a line once, and no typed line does.
        expect((await PostalMime.parse(raw)).text?.match(/^(?:Status|Reference|Form): /gm)).toHaveLength(3);
      }),
      { numRuns: 300 },
    );
  });
});

describe('subject of a notice, from forms', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({
      clock,
      environment: {
        SMTP_URL: server.url,
        MAIL_FROM: 'hello@paint.example',
        OPERATOR_NAME: 'Malerei Grün, "Söhne"',
        NOTIFY_EMAIL: notifyEmail,
        ALERT_EMAIL: alertEmail,
        MAIL_PER_MINUTE: '1000',
      },
    });
    closers.push(service.close);
  });

  async function rawNoticeOf(name: string, more: Record<string, string> = {}): Promise<string> {
    clock.advance(HOUR);
    const count = server.received.length;
    const fields = { form: 'homeowner_quote', name, email: 'ada@canary.example', postal_code: '94110', ...more };
    const answer = await post(service, '/api/leads', 'json', fields, from());
    expect(answer.status, name).toBe(200);
    await service.parts.outbox?.work();
    await expect.poll(() => server.received.length, { timeout: 15_000 }).toBe(count + 1);
    return server.received.at(-1)?.raw ?? '';
  }

  const end = ', 94110: homeowner quote';
  test.each([
    ['Margaret O’Neill', 'Margaret O’Neill'],
    ['李小龍', '李小龍'],
    // Readers show a name from right to left in its own direction, without a mark.
    ['\u200fמרגרט אוניל', 'מרגרט אוניל'],
    ['محمد\u061c بن سلمان', 'محمد بن سلمان'],
    ['Ada\u202e\u2066evil', 'Adaevil'],
    ['=?utf-8?Q?=E2=80=AE?= Ada', '= ?utf-8?Q?=E2=80=AE?= Ada'],
    ['=?utf-8?B?DQpCY2M6IGNAZC5leGFtcGxl?=', '= ?utf-8?B?DQpCY2M6IGNAZC5leGFtcGxl?='],
    ['=?utf-8?Q?a?= =?utf-8?Q?b?=', '= ?utf-8?Q?a?= = ?utf-8?Q?b?='],
    ['"Ada", <evil@x.example>', '"Ada", <evil@x.example>'],
    ['Ada   Bcc: evil@x.example', 'Ada Bcc: evil@x.example'],
    ['Рaint Mаtch', 'Рaint Mаtch'],
  ])('shows %j in one line with its place and form', async (name, shown) => {
    const raw = await rawNoticeOf(name);
    expect(await subjectOf(raw)).toBe(shown + end);
  });

  test.each([
    ['letters', 'A'.repeat(2000), 'A'.repeat(75)],
    ['emoji', '👩‍👩‍👧'.repeat(100), [...'👩‍👩‍👧'.repeat(100)].slice(0, 75).join('')],
    ['Arabic words', 'محمد '.repeat(300), 'محمد '.repeat(15).trim()],
  ])('cuts a very long name of %s', async (_what, name, shown) => {
    expect(await subjectOf(await rawNoticeOf(name))).toBe(`${shown}…${end}`);
  });

  test('shows a name of the greatest possible length uncut', async () => {
    const name = 'é'.repeat(100 - end.length);
    expect(await subjectOf(await rawNoticeOf(name))).toBe(name + end);
  });

  test('shortens a long postal code, so that the name and the form remain visible', async () => {
    const raw = await rawNoticeOf('Ada', { postal_code: '9'.repeat(2000) });
    expect(await subjectOf(raw)).toBe(`Ada, ${'9'.repeat(29)}…: homeowner quote`);
  });

  test('refuses a name with a line break, in each encoding', async () => {
    const count = server.offered.length;
    for (const name of ['Ada\r\nBcc: evil@x.example', 'Ada\n Bcc: evil@x.example', 'Ada\u2028x']) {
      const fields = { form: 'contact', name, email: 'a@x.example', subject: 's', message: 'm' };
      for (const encoding of ['json', 'urlencoded', 'multipart'] as const) {
        expect((await post(service, '/api/leads', encoding, fields, from())).status).toBe(400);
      }
    }
    await service.parts.outbox?.work();
    expect(server.offered).toHaveLength(count);
  });

  test('From is the operator and Reply-To the person, even if the person’s name contains an address', async () => {
    const mail = await PostalMime.parse(await rawNoticeOf('Paint Match <hello@paint.example>'));
    expect(mail.from).toEqual({ name: 'Malerei Grün, "Söhne"', address: 'hello@paint.example' });
    expect(mail.replyTo).toEqual([{ name: '', address: 'ada@canary.example' }]);
  });
});
