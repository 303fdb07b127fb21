/** One message goes to one mailbox for any typed address (ASVS 1.3.11). */
import fc from 'fast-check';
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { testClock } from '../support/clock.ts';
import { encodings, post } from '../support/forms.ts';
import { type Service, startService } from '../support/service.ts';

let mail: MailServer;
let service: Service;
const clock = testClock();
beforeAll(async () => {
  mail = await startMailServer();
  service = await startService({
    clock,
    environment: {
      SMTP_URL: mail.url,
      MAIL_PER_MINUTE: '1000000',
      OPERATOR_NAME: 'Paint <b>Match</b> & "Sons", Bcc: x@y.example',
    },
  });
});
afterAll(async () => {
  await service.close();
  await mail.close();
});

const work = () => service.parts.outbox?.work();

/** Pieces that could make one address two, a value a header, or a text markup. */
const pieces = fc.constantFrom(
  ...['a', 'b', '@', '.', 'x.example', ',', ';', ':', ' ', '<', '>', '"', '(', ')', '\\', '+'],
  ...['\r\n', '\n', '\r', '\0', '%0d%0a', 'Bcc: c@d.example', 'cc', '=?utf-8?q?=0D=0A?=', '\u2028'],
  ...['，', '；', '＠', '。', 'ｘ.ｃｏｍ', '<b>', '&lt;', '\u202e', "'", '`', '{', '|', '/', '\t'],
);
/** Any permitted local part, each at a domain of its own. */
const oddButTaken = fc
  .tuple(fc.stringMatching(/^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,20}$/), fc.nat(1_000_000))
  .map(([local, n]) => `${local}@x${n}.example`);
const anyAddress = fc.oneof(
  oddButTaken,
  fc.string({ unit: pieces, maxLength: 12 }),
  fc
    .tuple(fc.string({ unit: pieces, maxLength: 5 }), fc.string({ unit: pieces, maxLength: 5 }))
    .map(([local, domain]) => `${local}@x.${domain}example`),
);

describe('mail header, recipient and HTML injection', () => {
  test('sends one message to one recipient, with fixed headers, for every accepted address', async () => {
    const plain = await fixedPartsOf(await messageTo('plain@x.example'));
    let taken = 0;
    await fc.assert(
      fc.asyncProperty(anyAddress, fc.constantFrom(...encodings), async (written, encoding) => {
        const count = mail.received.length;
        const offered = mail.offered.length;
        const fields = { email: written.toWellFormed(), privacy: 'on', contractor: written };
        const answer = await post(service, '/api/subscribe', encoding, fields);
        await work();
        const news = mail.received.slice(count);
        if (answer.status >= 400) expect([answer.status, news.length]).toEqual([400, 0]);
        expect(mail.offered.length - offered).toBe(news.length);
        for (const { to, from, raw } of news) {
          taken += 1;
          expect([to.length, from]).toEqual([1, 'hello@paint.example']);
          expect(await fixedPartsOf({ raw, to: to[0] ?? '' })).toEqual(plain);
        }
      }),
      { numRuns: 120 },
    );
    // The test is only valid if enough addresses are accepted.
    expect(taken).toBeGreaterThan(20);
  });

  test.each([
    'a@x.example,b@y.example',
    'a@x.example;b@y.example',
    'a@x.example b@y.example',
    'a@x.example\r\nBcc: b@y.example',
    'a@x.example%0d%0aBcc:b@y.example',
    '"a@x.example,b"@y.example',
    'A <a@x.example>, b@y.example',
    'group: a@x.example, b@y.example;',
    'a@x.example\u2028b@y.example',
    'a＠x.example，b＠y.example',
    'a@x.example；b@y.example',
    'a＠b＠x.example',
  ])('refuses %j and sends no message', async (email) => {
    const before = mail.offered.length;
    for (const encoding of encodings) {
      const answer = await post(service, '/api/subscribe', encoding, { email, privacy: 'on' });
      expect(answer.status).toBe(400);
    }
    await work();
    expect(mail.offered).toHaveLength(before);
  });

  test('stores a full-width domain and offers it to the mail server in ASCII', async () => {
    const email = 'reader@ｘ．example';
    expect((await post(service, '/api/subscribe', 'json', { email, privacy: 'on' })).status).toBe(200);
    await work();
    expect(mail.offered.at(-1)).toBe('reader@x.example');
  });
});

/** Returns the message that a subscription with this plain address sends. */
async function messageTo(email: string): Promise<{ raw: string; to: string }> {
  await post(service, '/api/subscribe', 'json', { email, privacy: 'on' });
  await work();
  return { raw: mail.received.at(-1)?.raw ?? '', to: email };
}

/** Expects exactly these headers, one recipient and a plain text. Returns the parts that no address may change. */
async function fixedPartsOf({ raw, to }: { raw: string; to: string }) {
  const parsed = await PostalMime.parse(raw);
  expect(parsed.headers.map(({ key }) => key)).toEqual([
    'auto-submitted',
    'list-unsubscribe',
    'list-unsubscribe-post',
    'from',
    'to',
    'subject',
    'message-id',
    'date',
    'content-transfer-encoding',
    'mime-version',
    'content-type',
  ]);
  expect(parsed.to?.map(({ address }) => address)).toEqual([to]);
  expect([parsed.cc, parsed.bcc, parsed.html, parsed.attachments]).toEqual([undefined, undefined, undefined, []]);
  const headers = parsed.headers
    .filter(({ key }) => key !== 'to' && key !== 'message-id')
    .map(({ key, value }) => [key, withoutToken(value)]);
  return { headers, text: withoutToken(parsed.text ?? '') };
}

/** Replaces the token, which differs for each subscriber. */
const withoutToken = (text: string) =>
  text.replace(/\/newsletter\/(confirm|leave)\/[\w-]{22}(?![\w-])/g, '/newsletter/$1/TOKEN');
