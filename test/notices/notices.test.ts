/** Notices about submissions, sent to a real mail server (reference §11.5, `NOTIFY_EMAIL`). */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { eraseNoticesOf } from '../../src/mail/erasure.ts';
import type { Storage } from '../../src/storage/database.ts';
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

  test('sends the labelled fields of a lead, with Reply-To the person and a subject without their data', async () => {
    const { outbox, tell } = await instance();
    const row = submission({ form: 'homeowner_quote' }, { recipient: { id: 'contractor-1', name: 'Painters' } });
    await keep(storage, row);
    await tell(row);
    expect(await outbox.work()).toBe(1);
    const [mail] = await parsed(server);
    expect(server.received.map(({ to }) => to)).toEqual([[notifyEmail]]);
    expect(mail?.to).toEqual([{ name: '', address: notifyEmail }]);
    expect(mail?.replyTo).toEqual([{ name: '', address: 'ada@canary.example' }]);
    expect(mail?.subject).toBe('Paint Match: new homeowner quote, from a browser');
    expect(mail?.text).toContain('Who gets it: Painters\nStatus: delivered\n');
    expect(mail?.text).toContain('Full name\n    Ada Canary\n');
    expect(mail?.text).toContain('\n    First line\n    Second line\n');
    expect(mail?.text).toContain(`npm run inbox -- show ${row.id}\n`);
    expect(await outbox.work()).toBe(0);
    clock.advance(2 * HOUR);
    expect(await outbox.work()).toBe(0);
  });

  test.each([
    [{ status: 'delivered', stored_here: 1 } as const, 'kept here, in the inbox'],
    [{ status: 'waiting' } as const, 'kept here, not delivered yet; it is tried again'],
    [{ status: 'undelivered' } as const, 'NOT DELIVERED: it needs you'],
  ])('shows the status at the time of sending: %j', async (now, words) => {
    const { outbox, tell } = await instance();
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
    expect(mails.map(({ subject }) => subject)).toEqual(['Paint Match: new newsletter, from an agent']);
    expect(mails[0]?.text).toContain('came from an agent, acme.');
    expect(mails[0]?.text).toContain('Who gets it: Paint Match\n');
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
    expect(lines.join('')).toContain('message dropped: nothing is left to say');
  });

  test('writes nothing if NOTIFY_EMAIL is not set, and removes notices of another instance', async () => {
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

  test('sends twenty notices per hour and one summary of the others at its end, without personal data', async () => {
    const { outbox, tell } = await instance();
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
    expect(summary?.subject).toBe('Paint Match: 6 more submissions within an hour');
    expect(summary?.replyTo).toBeUndefined();
    expect(summary?.text).toContain('\n\ncontact: 3\nhomeowner quote: 3\n\n');
    expect(summary?.text).toContain(`npm run inbox -- list --since ${began}`);
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
    expect((await parsed(server))[41]?.subject).toMatch(/: 1 more submission within/);
    clock.advance(5 * HOUR);
    expect(await outbox.work()).toBe(0);
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

  test('sends a notice after confirmations, within the shared budget', async () => {
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

  test('sends no notice of a rolled-back transaction', async () => {
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

  test('retries a deferred notice under its Message-ID, and marks a refused one as permanently failed', async () => {
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

  test('sends to the operator alone, with only our headers, whatever the row contains', async () => {
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
      expect(mail.subject).toBe('Paint Match: new contact, from a browser');
      expect(mail.text?.match(/^Status: /gm)).toHaveLength(1);
    }
    const answerable = (await parsed(server)).filter(({ replyTo }) => replyTo !== undefined);
    expect(answerable.map(({ replyTo }) => replyTo)).toEqual([[{ name: '', address: 'ada@canary.example' }]]);
  });
});
