/** Thousands of sign-ups fill no mailbox (ASVS 2.4.1, API6). */
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type MailServer, startMailServer } from '../../mail/mail-server.ts';
import { type TestClock, testClock } from '../../support/clock.ts';
import { post } from '../../support/forms.ts';
import { type Service, startService } from '../../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';

const VICTIMS = 200;
const SPELLINGS = 15;
const A_MINUTE = 60;
const slogan = 'buy-canary-pills';

let clock: TestClock;
let mail: MailServer;
let upstream: ProgrammableUpstream;
let service: Service;
beforeAll(async () => {
  clock = testClock();
  mail = await startMailServer();
  // An upstream that recognizes no address, so that only the service limits the messages.
  upstream = await startUpstream();
  service = await startService({
    clock,
    environment: {
      UPSTREAM_URL: upstream.url,
      SMTP_URL: mail.url,
      MAIL_PER_MINUTE: String(A_MINUTE),
    },
  });
});
afterAll(async () => {
  await service.close();
  await mail.close();
  await upstream.close();
});

/** Returns a spelling of a victim's mailbox. Each has its own plus-tag. */
const spelling = (victim: number, n: number) => {
  const tag = n === 0 ? '' : `+${slogan}${n}`;
  const written = `victim${victim}${tag}@Example.COM`;
  return n % 2 === 0 ? written : written.toUpperCase();
};

test('list bombing: 3,000 sign-ups under plus-tags send one message to each mailbox, and 60 messages a minute', async () => {
  const all = Array.from({ length: VICTIMS * SPELLINGS }, (_, n) => spelling(n % VICTIMS, Math.floor(n / VICTIMS)));
  for (let from = 0; from < all.length; from += 100) {
    const answers = await Promise.all(
      all.slice(from, from + 100).map((email) =>
        post(service, '/api/subscribe', 'json', {
          email,
          privacy: 'on',
          contractor: slogan,
          message: slogan,
        }),
      ),
    );
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
  }

  const budget = service.parts.outbox ?? expect.fail();
  const sentAfterEachMinute: number[] = [];
  for (let minute = 0; minute < 5; minute += 1) {
    await budget.work();
    await expect.poll(() => mail.received.length).toBe(Math.min(VICTIMS, (minute + 1) * A_MINUTE));
    sentAfterEachMinute.push(mail.received.length);
    clock.advance(60_001);
  }
  expect(sentAfterEachMinute).toEqual([60, 120, 180, 200, 200]);

  clock.advance(24 * 3_600_000 - 10 * 60_000);
  for (let victim = 0; victim < 5; victim += 1) {
    const again = { email: spelling(victim, 99), privacy: 'on' };
    expect((await post(service, '/api/subscribe', 'json', again)).status).toBe(200);
  }
  await budget.work();
  expect(mail.received).toHaveLength(VICTIMS);

  const mailboxes = mail.received.map(({ to }) => {
    expect(to).toHaveLength(1);
    return to[0]?.replace(/\+.*@/, '@');
  });
  expect(new Set(mailboxes).size).toBe(VICTIMS);
});

test('list bombing: a message contains no input of the sender except its address, and is marked auto-generated', async () => {
  for (const { raw, to } of mail.received) {
    const parsed = await PostalMime.parse(raw);
    const header = Object.fromEntries(parsed.headers.map(({ key, value }) => [key, value]));
    expect(header['auto-submitted']).toBe('auto-generated');
    // The address is only in To. A plus-tag is a part of it.
    expect(header.to).toContain(to[0] ?? expect.fail());
    const { to: _, ...others } = header;
    expect(JSON.stringify([others, parsed.text])).not.toContain(slogan);
    expect(JSON.stringify([others, parsed.text])).not.toContain('victim');
  }
});
