/** Notices about submissions, sent to a real mail server (reference §11.5, `NOTIFY_EMAIL`). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eraseNoticesOf } from '../../src/mail/erasure.ts';
import type { Storage } from '../../src/storage/database.ts';
import { shortReference } from '../../src/submissions/submission.ts';
import { type MailServer, type MailServerOptions, startMailServer } from '../mail/mail-server.ts';
import { withClock } from '../mail/outbox-parts.ts';
import { type TestClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { empty, type InstanceOptions, keep, notifyEmail, openInstance, parsed, submission } from './operator-mail.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

describe.each(databases)('notices, on %s', (_name, create) => {
  let database: TestDatabase;
  let clock: TestClock;
  let storage: Storage;
  let server: MailServer;
  let answers: MailServerOptions;
  const closers: (() => Promise<void>)[] = [];
  beforeAll(async () => {
    database = await create();
  });
  beforeEach(async () => {
    clock = testClock();
    storage = await openStorage();
    await empty(storage);
    answers = {};
    server = await startMailServer({ recipient: (address) => answers.recipient?.(address) });
    closers.push(server.close);
  });
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });
  afterAll(() => database.remove());

  async function openStorage() {
    const opened = await database.open(clock);
    closers.push(opened.close);
    return withClock(opened, clock);
  }
  async function instance(options: InstanceOptions = {}, on = storage) {
    const opened = await openInstance(on, clock, server, options);
    closers.push(opened.outbox.close);
    return opened;
  }
  const messages = () => storage.read((db) => db.selectFrom('messages').selectAll());

  test('sends one notice with name, telephone, e-mail address and job on top, and Reply-To the person', async () => {
    const { outbox, tell } = await instance({ environment: { OPERATOR_TIME_ZONE: 'America/Los_Angeles' } });
    const fields = {
      name: 'Margaret O’Neill',
      email: 'ada@canary.example',
      postal_code: '94110',
      phone: '+1 (415) 555-0165',
      project_type: 'Interior',
      timeline: 'Within a month',
      message: 'Two bedrooms.\nThe ceilings too.',
    };
    const id = '3f0c9a52-7d84-4b1e-9c55-0123456789ab';
    const data = { fields, recipient: { id: 'contractor-1', name: 'Painters' } };
    const row = submission({ id, form: 'homeowner_quote' }, data);
    await keep(storage, row);
    await tell(row);
    expect(await outbox.work()).toBe(1);
    const [mail] = await parsed(server);
    expect(server.received.map(({ to }) => to)).toEqual([[notifyEmail]]);
    expect(mail?.to).toEqual([{ name: '', address: notifyEmail }]);
    expect(mail?.replyTo).toEqual([{ name: '', address: 'ada@canary.example' }]);
    expect(mail?.subject).toBe('Margaret O’Neill, 94110: homeowner quote');
    expect(mail?.text?.trimEnd()).toBe(`Full name: Margaret O’Neill
Phone number: +1 (415) 555-0165
E-mail address: ada@canary.example
Postal code: 94110
What is to be painted? Interior
When should it be done? Within a month

What should the contractor know?
    Two bedrooms.
    The ceilings too.

A reply to this message goes to this person.

Form: homeowner quote, from a browser
Goes to: Painters
Status: delivered
Received: 1 Sept 2026, 04:59 GMT-7
Reference: ${shortReference(id)}

To see the submission and its delivery:
https://paint.example/operator/leads/${id}

Paint Match
https://paint.example`);
    expect(await outbox.work()).toBe(0);
    clock.advance(2 * HOUR);
    expect(await outbox.work()).toBe(0);
  });

  test('sends the inbox command instead of a link if the console is off', async () => {
    const { outbox, tell } = await instance({ environment: { OPERATOR_CONSOLE: 'off' } });
    const row = submission();
    await keep(storage, row);
    await tell(row);
    await outbox.work();
    const text = (await parsed(server))[0]?.text;
    expect(text).toContain(`\nnpm run inbox -- show ${row.id}\n`);
    expect(text).not.toContain('/operator');
  });

  test('shows the company in the subject, an agent by its label, and warns of an address with mixed scripts', async () => {
    const { outbox, tell } = await instance({ labelOf: (client) => `${client.toUpperCase()} Assistant` });
    const email = 'info@xn--pple-43d.example';
    const fields = { name: 'Ada', email, company: 'Canary & Sons' };
    const signup = { form: 'contractor_signup', email, origin: 'agent' } as const;
    const row = submission(signup, { client: 'acme', fields });
    await keep(storage, row);
    await tell(row);
    await outbox.work();
    const [mail] = await parsed(server);
    expect(mail?.subject).toBe('Ada, Canary & Sons: contractor signup');
    expect(mail?.text).toContain('\nForm: contractor signup, from an agent, ACME Assistant\n');
    expect(mail?.text).toContain('\nCareful: the e-mail address mixes letters of several alphabets.\n');
  });

  test.each([
    [{ status: 'delivered', stored_here: 1 } as const, 'stored in the inbox'],
    [
      { status: 'waiting', next_attempt_ms: Date.parse('2026-09-01T12:05:00Z') } as const,
      'stored, not delivered yet, next attempt on 1 Sept 2026, 12:05 UTC',
    ],
    [
      { status: 'undelivered' } as const,
      'NOT DELIVERED. The submission is stored, but the service makes no further attempt.',
    ],
  ])('shows the status at the time of sending: %j', async (now, words) => {
    const { outbox, tell } = await instance({ environment: { OPERATOR_TIME_ZONE: 'UTC' } });
    const row = submission({ status: 'sending' });
    await keep(storage, row);
    await tell(row);
    await storage.write((tx) => tx.updateTable('submissions').set(now).execute());
    await outbox.work();
    expect((await parsed(server))[0]?.text).toContain(`Status: ${words}`);
  });

  test('sends a notice for an agent’s newsletter execution, but not for a browser’s subscription', async () => {
    const { outbox, tell } = await instance();
    const agent = { client: 'acme', fields: { email: 'ada@canary.example' } };
    const executed = submission({ form: 'newsletter', origin: 'agent' }, agent);
    const subscription = submission({ form: 'newsletter' });
    await keep(storage, executed, subscription);
    await tell(executed);
    await tell(subscription);
    await outbox.work();
    const mails = await parsed(server);
    expect(mails.map(({ subject }) => subject)).toEqual(['newsletter']);
    expect(mails[0]?.text).toContain('Form: newsletter, from an agent, acme\nGoes to: Paint Match\n');
    // A newsletter subscription has no reference.
    expect(mails[0]?.text).not.toContain('Reference');
  });

  test('sends nothing and removes the notice if the submission or its content was deleted', async () => {
    const { outbox, tell, lines } = await instance();
    const [erased, gone, dropped] = [submission(), submission({ email: null }), submission()];
    await keep(storage, erased, gone, dropped);
    for (const row of [erased, gone, dropped]) await tell(row);
    await storage.write((tx) => tx.deleteFrom('submissions').where('id', '=', erased.id).execute());
    expect(await storage.write((tx) => eraseNoticesOf(tx, [dropped.id, 'no-such']))).toBe(1);
    await outbox.work();
    expect(server.offered).toEqual([]);
    expect(await messages()).toEqual([]);
    expect(await outbox.depth()).toEqual({ pending: 0, dead: 0 });
    expect(lines.join('')).toContain('obsolete message dropped');
  });

  test('queues no notice if NOTIFY_EMAIL is not set, and removes notices that another instance queued', async () => {
    const unset = await instance({ environment: { NOTIFY_EMAIL: '' } });
    const { tell, notices } = await instance();
    const row = submission();
    await keep(storage, row);
    await unset.tell(row);
    expect(await messages()).toEqual([]);
    await tell(row);
    await notices.throttle();
    await unset.outbox.work();
    expect([await messages(), server.offered]).toEqual([[], []]);
    await tell(row);
    clock.advance(25 * HOUR);
    await unset.outbox.work();
    expect(await messages()).toEqual([]);
  });

  test('sends twenty notices per hour, then one summary of the other submissions, without personal data', async () => {
    const { outbox, tell } = await instance({ environment: { OPERATOR_TIME_ZONE: 'Europe/Berlin' } });
    const began = clock.now().toISOString();
    for (let n = 0; n < 26; n += 1) {
      const row = submission({ form: n < 23 ? 'contact' : 'homeowner_quote' });
      await keep(storage, row);
      await tell(row);
      clock.advance(MINUTE);
      if (n % 9 === 0) await outbox.work();
    }
    await outbox.work();
    expect(server.received).toHaveLength(20);
    clock.advance(34 * MINUTE - 1);
    await outbox.work();
    expect(server.received).toHaveLength(20);
    clock.advance(1);
    await outbox.work();
    const summary = (await parsed(server))[20];
    expect(summary?.subject).toBe('6 more submissions within an hour');
    expect(summary?.replyTo).toBeUndefined();
    expect(summary?.text).toMatch(/^In the hour from 1 Sept 2026, 14:00 CEST, 6 more submissions came in\. /);
    expect(summary?.text).toContain('\n\ncontact: 3\nhomeowner quote: 3\n\n');
    expect(summary?.text).toContain(`https://paint.example/operator/leads?since=${encodeURIComponent(began)}\n`);
    expect(server.received[20]?.raw).not.toMatch(/canary/i);

    // The next hour begins with its first notice, not at the end of the previous hour.
    clock.advance(10 * MINUTE);
    for (let n = 0; n < 21; n += 1) {
      const row = submission();
      await keep(storage, row);
      await tell(row);
    }
    await outbox.work();
    clock.advance(HOUR - 1);
    await outbox.work();
    expect(server.received).toHaveLength(41);
    clock.advance(1);
    await outbox.work();
    expect((await parsed(server))[41]?.subject).toBe('1 more submission within an hour');
    clock.advance(5 * HOUR);
    expect(await outbox.work()).toBe(0);
  });

  test('applies the limit to more notices than one transaction reads', async () => {
    const { notices } = await instance();
    await storage.write(async (tx) => {
      for (let n = 0; n < 420; n += 1) {
        for (const change of notices.of(submission())) await tx.change(change);
      }
    });
    await notices.throttle();
    expect((await messages()).map(({ status }) => status)).toEqual(Array(20).fill('pending'));
  });

  test('sends twenty notices and one summary per hour from two instances together', async () => {
    const [one, two] = [await instance(), await instance({}, await openStorage())];
    const rows = Array.from({ length: 50 }, () => submission());
    await keep(storage, ...rows);
    await Promise.all(rows.map((row, n) => (n % 2 === 0 ? one : two).tell(row)));
    for (let round = 0; round < 3; round += 1) {
      await Promise.all([one.outbox.work(), two.outbox.work()]);
    }
    expect(server.received).toHaveLength(20);
    clock.advance(HOUR);
    for (let round = 0; round < 2; round += 1) {
      await Promise.all([one.outbox.work(), two.outbox.work()]);
    }
    const mails = await parsed(server);
    expect(mails).toHaveLength(21);
    expect(mails[20]?.text).toContain('contact: 30');
    expect(new Set(mails.map(({ messageId }) => messageId)).size).toBe(21);
  });

  test('sends confirmation messages before an older notice if both share the budget of a minute', async () => {
    const { outbox, tell } = await instance({ perMinute: 2 });
    const row = submission();
    await keep(storage, row);
    await tell(row);
    clock.advance(MINUTE);
    for (const name of ['one', 'two']) await storage.write(outbox.messageTo(`${name}@x.example`));
    await outbox.work();
    expect(server.offered.sort()).toEqual(['one@x.example', 'two@x.example']);
    clock.advance(MINUTE);
    await outbox.work();
    expect(server.offered.at(-1)).toBe(notifyEmail);
  });

  test('sends no notice for a submission whose transaction was rolled back', async () => {
    const { notices, outbox } = await instance();
    const row = submission();
    await keep(storage, row);
    const rolledBack = storage.write(async (tx) => {
      for (const change of notices.of(row)) await tx.change(change);
      throw new Error('rolled back');
    });
    await expect(rolledBack).rejects.toThrow('rolled back');
    expect(await outbox.work()).toBe(0);
  });

  test('retries a deferred notice under its Message-ID, and marks a refused notice as permanently failed', async () => {
    const { outbox, tell } = await instance();
    const row = submission();
    await keep(storage, row);
    await tell(row);
    answers.recipient = () => ({ code: 451, text: '4.7.1 later' });
    await outbox.work();
    const [{ message_id } = expect.fail()] = await messages();
    answers.recipient = () => undefined;
    clock.advance(MINUTE);
    await outbox.work();
    expect((await parsed(server)).map(({ messageId }) => messageId)).toEqual([message_id]);

    answers.recipient = () => ({ code: 550, text: '5.1.1 no' });
    const other = submission();
    await keep(storage, other);
    await tell(other);
    await outbox.work();
    expect(await outbox.depth()).toEqual({ pending: 0, dead: 1 });
  });

  test('sends only to the operator, without injected headers, whatever the submission contains', async () => {
    const { outbox, tell } = await instance();
    const evil = 'Ada\r\nBcc: evil@x.example\r\n\r\nStatus: delivered';
    const rows = [
      submission({ email: 'ada@x.example\r\nBcc: evil@x.example' }),
      submission({ email: 'a@x.example,evil@x.example' }),
      submission({}, { fields: { name: evil, email: 'ada@x.example', odd: evil } }),
    ];
    await keep(storage, ...rows);
    for (const row of rows) await tell(row);
    await outbox.work();
    expect(server.received.map(({ to }) => to)).toEqual(rows.map(() => [notifyEmail]));
    for (const mail of await parsed(server)) {
      const names = new Set(mail.headers.map(({ key }) => key));
      expect([...names].filter((name) => /bcc|cc|sender/.test(name))).toEqual([]);
      expect(mail.subject).toMatch(/^Ada .*: contact$/);
      expect(mail.text?.match(/^Status: /gm)).toHaveLength(1);
    }
    const answerable = (await parsed(server)).filter(({ replyTo }) => replyTo !== undefined);
    expect(answerable.map(({ replyTo }) => replyTo)).toEqual([[{ name: '', address: 'ada@canary.example' }]]);
  });
});
