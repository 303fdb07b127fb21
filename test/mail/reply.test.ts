import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shownReply } from '../../src/mail/reply.ts';
import { openSmtpMailer } from '../../src/mail/smtp.ts';
import { testClock } from '../support/clock.ts';
import { codePoint } from '../support/code-point.ts';
import { baseUrl, confirmation, from, startMailServer, unhurried } from './mail-server.ts';

const message = {
  address: 'jane.doe+news@subscriber.example',
  replyTo: 'ada.lovelace@example.org',
  subject: 'Your code: 482913',
  text: 'Hello\n\nYour code: 482913\nhttps://paint.example/confirm/AbCdEfGhIjKlMnOpQrStUv\n\nAda, ada.lovelace@example.org',
};

describe('shownReply', () => {
  test.each([
    ['550 5.1.1 <jane.doe+news@subscriber.example>: Recipient rejected', '… Recipient rejected'],
    ['550 5.1.1 JANE.DOE+NEWS@SUBSCRIBER.EXAMPLE unknown', '… unknown'],
    ['550 "jane doe"@subscriber.example unknown', '… unknown'],
    ['550 "a \\" b"@c.example unknown', '… unknown'],
    ['550 someone else @ other.example unknown', 'someone … unknown'],
    ['550 other@[192.0.2.1] and <@relay:other@x> and other%40x', '… and … and …'],
    ['550 mailto:other@x host!user other＠x.example other﹫x', '…'],
    ['550 user jane.doe of jane, doe or lovelace', 'user … of … or …'],
    ['550 j\u200bane\u00ad jane', '…'],
    ['550 code 482913, 482 913, 4829', 'code …'],
    ['550 see https://paint.example/confirm/AbCdEfGhIjKlMnOpQrStUv', 'see …'],
    ['550 token AbCdEfGhIjKlMnOpQrStUv, abcdef and IJKL', 'token … and …'],
    [
      '450-4.2.2 The mailbox\n450-4.2.2 is full.\r\n450 4.2.2 Try again in 15 minutes',
      'The mailbox is full. Try again in 15 minutes',
    ],
    ["552-5.2.2 The recipient's inbox is out of storage", "The recipient's inbox is out of storage"],
    ['550 Empfänger unbekannt', 'Empfänger unbekannt'],
    ['550 \u001b[31mred\u202egnorw\u001b[0m', '…'],
    ['550 5.71.300 Rejected', 'Rejected'],
    ['5.1.1 Rejected', 'Rejected'],
    ['550 Rejected -- try later', 'Rejected -- try later'],
    ['550 USER UNKNOWN BY ANTI-SPAM', 'USER UNKNOWN BY ANTI-SPAM'],
    ['550 e-mail well-known, well-4known, well-48', 'e-mail well-known, …'],
    ['550 (["Mailbox"]) full', '(["Mailbox"]) full'],
    ['550 "mailbox full" for other@x', '"mailbox full" for …'],
    ['550 user "@x" unknown', 'user … unknown'],
    ['550 user else @other.example', 'user …'],
    ['550 else@ other unknown', '… unknown'],
    ['550 "some one" \t@other.example unknown', '… unknown'],
    ['550 other\\other unknown', 'otherther unknown'],
    ['550 user doe/unknown', 'user …'],
    [`550 ${'a@b '.repeat(600)}unknown`, '…'],
    ['550', ''],
    ['550 ', ''],
    ['', ''],
  ])('shows %j as %j', (response, shown) => {
    expect(shownReply(response, message)).toBe(shown);
  });

  test('hides a name of an address whose parts are short', () => {
    expect(shownReply('550 "jo-an", unknown', { ...message, address: 'jo-an@x.example' })).toBe('… unknown');
  });

  test('shows exactly 200 characters in full', () => {
    const text = `${'word '.repeat(39)}words`;
    expect(shownReply(`550 ${text}`, message)).toBe(text);
  });

  test('shows at most 200 characters', () => {
    const shown = shownReply(`550 ${'word '.repeat(400)}`, message);
    expect(shown).toHaveLength(200);
    expect(shown.endsWith(' word…')).toBe(true);
  });

  test('shows no three characters in a row of a token, however a server repeats and splits the token', () => {
    const token = fc.stringMatching(/^[A-Za-z0-9_-]{22}$/);
    const breaks = fc.constantFrom(' ', '\n550 ', '=\r\n', '. ', ' "', ') (', '<');
    const around = fc.constantFrom('', '/', '<', '"', '[', '(', '=3D', 'token: ');
    fc.assert(
      fc.property(token, fc.array(fc.tuple(fc.nat(22), breaks), { maxLength: 4 }), around, (secret, cuts, before) => {
        const text = `Confirm: https://paint.example/confirm/${secret}`;
        let repeated = secret;
        for (const [at, piece] of cuts) repeated = repeated.slice(0, at) + piece + repeated.slice(at);
        const shown = shownReply(`550 5.7.1 ${before}${repeated}${before}`, { ...message, text });
        for (const word of shown.match(/[\p{L}\p{N}][\p{L}\p{N}_-]*[\p{L}\p{N}]/gu) ?? []) {
          if (word !== 'token' && word.length > 2) expect(secret).not.toContain(word);
        }
      }),
    );
  });

  test('shows only visible characters, and no @, for an arbitrary reply', () => {
    const reply = fc.oneof(
      fc.string({ unit: codePoint }),
      fc.string({ unit: fc.constantFrom(...'@＠"<>\\ a\n\t\u202e\u200b5.') }),
    );
    fc.assert(
      fc.property(reply, (response) => {
        const shown = shownReply(response, message);
        expect(shown).not.toMatch(/[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}@＠﹫]/u);
        expect([...shown].length).toBeLessThanOrEqual(200);
      }),
    );
  });
});

/** Encodings in which a server could repeat what it got. */
const echoes: Readonly<Record<string, (raw: string) => string>> = {
  unchanged: (raw) => raw,
  'without soft line breaks': (raw) => raw.replace(/=\r\n/g, '').replace(/=3D/g, '='),
  'in one line': (raw) => raw.replace(/\s+/g, ' '),
  'without its headers': (raw) => raw.slice(raw.indexOf('\r\n\r\n')).trim(),
  'as a list of its links, codes and addresses': (raw) =>
    (raw.replace(/=\r\n/g, '').match(/https?:\S+|\b\d{6}\b|\S+@\S+/g) ?? []).join(' '),
  'with each word on a line': (raw) => raw.split(/\s+/).join('\n'),
  'in reverse order': (raw) => raw.split(/\s+/).reverse().join(' '),
};

test.each(Object.entries(echoes))(
  'a stored reply contains no data of the message if the server repeats the message %s',
  async (_how, echo) => {
    const server = await startMailServer({ data: (raw) => ({ code: 554, text: `5.6.0 Rejected: ${echo(raw)}` }) });
    const mailer = await openSmtpMailer({ url: server.url, baseUrl, from, clock: testClock(), timeouts: unhurried });
    const messages = [
      { ...confirmation, address: 'jane.o+news@subscriber.example' },
      { ...message, subject: 'Your code is 482913' },
      { ...message, text: `${'word '.repeat(40)}482913 https://paint.example/confirm/Zz9xYy8wVv7uTt6sRr5qPp` },
    ];
    for (const [n, each] of messages.entries()) {
      const result = await mailer.send({ ...each, messageId: `<m-${n}@paint.example>` });
      if (result.kind !== 'refused' || result.reply === undefined) return expect.fail();
      expect(result.reply).toMatch(/^554 5\.6\.0 Rejected: ?/);
      expect([...result.reply].length).toBeLessThanOrEqual('554 5.6.0 '.length + 200);
      expect(result.reply).not.toMatch(/@|https?|jane|lovelace|482|913|CCC|LLL|AbCd|Zz9|paint\.example/i);
    }
    await mailer.close();
    await server.close();
  },
);
