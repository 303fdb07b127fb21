/** Notices to the contractor, sent by the running service to a real mail server (reference §11.5, `CONTRACTOR_EMAIL`). */
import PostalMime from 'postal-mime';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { erasePerson } from '../../src/confirmations/person.ts';
import { noticeIsOpen } from '../../src/notices/notices.ts';
import { completeExpiredAttempts } from '../../src/submissions/attempts.ts';
import { openRedelivery } from '../../src/submissions/redelivery.ts';
import { openSubmissionRetention } from '../../src/submissions/retention.ts';
import { shortReference } from '../../src/submissions/submission.ts';
import { pending, pressButton } from '../confirmations/rig.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { call, executeAction, previewId, quote } from '../support/agent.ts';
import { steppedClock, type TestClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { post } from '../support/forms.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { empty, notifyEmail } from './operator-mail.ts';

const CONTRACTOR = 'owner@painters.example';
const LEASE_MS = 15_000;
const HOUR = 3_600_000;

describe.each(databases)('CONTRACTOR_EMAIL, on %s', (_name, create) => {
  let database: TestDatabase;
  let upstream: ProgrammableUpstream;
  let mail: MailServer;
  let service: Service;
  let clock: TestClock;
  let refuses = false;

  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    mail = await startMailServer({ recipient: () => (refuses ? { code: 451, text: '4.7.1 later' } : undefined) });
    clock = steppedClock();
    service = await start({});
  });
  beforeEach(async () => {
    refuses = false;
    upstream.answer = answering(200);
    await empty(service.parts.storage);
    mail.received.splice(0);
  });
  afterAll(async () => {
    await service.close();
    await Promise.all([upstream.close(), mail.close()]);
    await database.remove();
  });

  const start = (environment: Record<string, string>) =>
    startService({
      clock,
      environment: {
        DATABASE_URL: database.url,
        UPSTREAM_URL: upstream.url,
        SMTP_URL: mail.url,
        MAIL_PER_MINUTE: '1000',
        NOTIFY_EMAIL: notifyEmail,
        CONTRACTOR_EMAIL: CONTRACTOR,
        OPERATOR_CONSOLE: 'off',
        OPERATOR_TIME_ZONE: 'UTC',
        SUBMISSION_RETENTION_DAYS: '0',
        ...environment,
      },
    });
  const lead = (fields: Record<string, string> = {}, to = service) =>
    post(to, '/api/leads', 'json', { form: 'homeowner_quote', ...quote, ...fields });
  const rows = (of = service) =>
    of.parts.storage.read((db) => db.selectFrom('messages').selectAll().where('kind', '=', 'contractor_notice'));
  /** Runs the outbox, and returns the parsed messages to the contractor since the beginning of the test. */
  const mails = async (of = service) => {
    await of.parts.outbox?.work();
    // The clock may have started another worker, whose sends have not ended.
    if (!refuses) await until(async () => (await of.parts.outbox?.depth())?.pending === 0);
    const own = mail.received.filter(({ to }) => to.includes(CONTRACTOR));
    return await Promise.all(own.map(({ raw }) => PostalMime.parse(raw)));
  };
  /** Runs the outbox again after a delay. PostgreSQL measures the time since the last attempt by its own clock. */
  const mailsLater = async (of = service) => {
    refuses = false;
    clock.advance(60_000);
    await of.parts.storage.write((tx) => tx.updateTable('messages').set({ attempt_started_ms: null }).execute());
    return await mails(of);
  };
  const idOf = (answer: { headers: Headers }) => answer.headers.get('submission-reference') ?? expect.fail();
  /** Waits until the outcome of every submission is written. A success is answered earlier. */
  const settled = () =>
    until(async () => {
      const open = await service.parts.storage.read((db) =>
        db.selectFrom('submissions').select('id').where('status', '=', 'sending'),
      );
      return open.length === 0;
    });

  test('gets a quote request with the fields first, Reply-To the person, and without command and link', async () => {
    const answer = await lead({ phone: '+1 415 555 0165', message: 'Two bedrooms.\nThe ceilings too.' });
    await settled();
    const [message, ...others] = await mails();
    expect(others).toEqual([]);
    expect(message?.to).toEqual([{ name: '', address: CONTRACTOR }]);
    expect(message?.replyTo).toEqual([{ name: '', address: quote.email }]);
    expect(message?.subject).toBe('Ada Lovelace, 94110: homeowner quote');
    const header = Object.fromEntries(message?.headers.map(({ key, value }) => [key, value]) ?? []);
    expect(header['auto-submitted']).toBe('auto-generated');
    const received = `1 Sept 2026, 12:${String(clock.now().getUTCMinutes()).padStart(2, '0')} UTC`;
    const text = message?.text?.replace(/^Received: .*$/m, `Received: ${received}`);
    expect(text?.trimEnd()).toBe(`Full name: Ada Lovelace
Phone number: +1 415 555 0165
E-mail address: ada@example.com
Postal code: 94110

What should the contractor know?
    Two bedrooms.
    The ceilings too.

A reply to this message goes to this person.

Form: homeowner quote, from a browser
Goes to: Vetted Painters
Status: delivered
Received: ${received}
Reference: ${shortReference(idOf(answer))}

Please answer this person yourself. Paint Match sends you each request for a quote from its site, once.

Paint Match
${service.url}`);
    expect(message?.text).not.toMatch(/npm run|\/operator/);
  });

  test('gets no link to the console if the console is on, unlike the operator', async () => {
    const own = await create();
    const console = { OPERATOR_CONSOLE: 'on', BASE_URL: 'https://paint.example' };
    const other = await start({ ...console, DATABASE_URL: own.url, UPSTREAM_URL: 'inbox:' });
    await lead({}, { ...other, url: `http://127.0.0.1:${other.settings.port}` });
    expect((await mails(other)).map(({ text }) => /npm run|operator/.test(text ?? ''))).toEqual([false]);
    const toOperator = mail.received.filter(({ to }) => to.includes(notifyEmail));
    expect(toOperator.map(({ raw }) => raw.includes('/operator/leads/'))).toEqual([true]);
    await other.close();
    await own.remove();
  });

  test('gets one message if the first attempt fails and redelivery and a repeated form follow', async () => {
    upstream.answer = answering(500);
    const person = { email: 'again@example.com' };
    const first = await lead(person);
    expect(first.status).toBe(502);
    expect(await mails()).toHaveLength(1);
    expect((await mails())[0]?.text).toContain('\nStatus: stored, not delivered yet, next attempt on ');
    expect(idOf(await lead(person))).toBe(idOf(first));
    upstream.answer = answering(200);
    expect((await lead(person)).status).toBe(200);
    await settled();
    expect(await mails()).toHaveLength(1);
    // Rows of messages are deleted after a day, and a redelivery may come later.
    await service.parts.storage.write((tx) => tx.deleteFrom('messages').execute());
    const due = { status: 'waiting', step: 0, next_attempt_ms: 0 } as const;
    await service.parts.storage.write((tx) =>
      tx.updateTable('submissions').set(due).where('id', '=', idOf(first)).execute(),
    );
    for (const job of Object.values(openRedelivery(service.parts.submissions))) await job.run();
    await settled();
    expect(await rows()).toEqual([]);
    expect(await mails()).toHaveLength(1);
  });

  test.each([400, 422])('gets a quote request that the upstream rejects with %i', async (status) => {
    upstream.answer = answering(status);
    await lead({ email: `rejected-${status}@example.com` });
    expect((await mails())[0]?.text).toContain('\nStatus: NOT DELIVERED.');
  });

  test('gets one message if the process dies in the first attempt, and the late outcome adds none', async () => {
    const ended = Promise.withResolvers<void>();
    upstream.answer = (response) => void ended.promise.then(() => response.writeHead(200).end());
    const delivered = upstream.delivered.length;
    const answer = lead({ email: 'crash@example.com' });
    await until(() => upstream.delivered.length > delivered);
    await service.parts.storage.write((tx) =>
      tx
        .updateTable('submissions')
        .set((row) => ({ lease_started_ms: row('lease_started_ms', '-', LEASE_MS + 1) }))
        .where('status', '=', 'sending')
        .execute(),
    );
    expect(await completeExpiredAttempts(service.parts.submissions)).toBe(1);
    expect(await mails()).toHaveLength(1);
    ended.resolve();
    expect((await answer).status).toBe(200);
    expect(await mails()).toHaveLength(1);
  });

  test('gets one message for an execution that ended submitted, also for replays, and none for a failed one', async () => {
    const fields = { ...quote, email: 'agent@example.com' };
    const preview = await previewId(service, 'homeowner_quote', fields);
    for (let time = 0; time < 3; time += 1) {
      expect((await executeAction(service, preview, { key: 'once' })).body.receipt.status).toBe('submitted');
    }
    upstream.answer = answering(500);
    const failing = await executeAction(service, await previewId(service, 'homeowner_quote', fields));
    expect(failing.body.receipt.status).toBe('failed');
    const found = await mails();
    expect(found).toHaveLength(1);
    expect(found[0]?.text).toContain('\nForm: homeowner quote, from an agent, acme\nGoes to: Vetted Painters\n');
    expect(found[0]?.replyTo).toEqual([{ name: '', address: 'agent@example.com' }]);
  });

  test('gets one message after the person has sent a confirmation, and none before', async () => {
    const asked = await pending(service, { fields: { ...quote, email: 'page@example.com' } });
    expect(await mails()).toEqual([]);
    await pressButton(service, asked.path, 'send');
    await pressButton(service, asked.path, 'send');
    expect(await mails()).toHaveLength(1);
  });

  test('gets none for other forms, honeypots, refused forms and sandbox clients', async () => {
    const others = [
      { form: 'contact', name: 'Ada', email: quote.email, subject: 'Hi', message: 'Hi' },
      { form: 'contractor_signup', name: 'Ada', email: quote.email, company: 'Lovelace' },
      { form: 'newsletter', email: quote.email },
      { form: 'homeowner_quote', ...quote, 'bot-field': 'x' },
      { form: 'homeowner_quote', name: 'Ada' },
    ];
    const posts = others.map((fields) => post(service, '/api/leads', 'json', fields as Record<string, string>));
    posts.push(post(service, '/api/subscribe', 'json', { email: quote.email, privacy: 'on' }));
    const answers = Promise.all(posts);
    let isOver = false;
    void answers.then(() => {
      isOver = true;
    });
    // The answers to a bot and to a subscription wait for the clock.
    await until(() => {
      clock.advance(100);
      return isOver;
    });
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200, 200, 400, 200]);
    const contact = { name: 'Ada', email: quote.email, subject: 'Hi', message: 'Hi' };
    const action = 'contact';
    await executeAction(service, await previewId(service, action, contact), { action });
    const headers = { authorization: `Bearer ${tokens.sandbox}` };
    const path = '/api/agent/actions/homeowner_quote/preview';
    const { body } = await call(service, path, { headers, body: JSON.stringify(quote) });
    const tested = await executeAction(service, body.preview_id, { token: tokens.sandbox });
    expect(tested.body.receipt.status).toBe('submitted');
    await settled();
    expect(await mails()).toEqual([]);
  });

  test('is not counted towards the 20 notices of an hour, and has no such limit', async () => {
    const toOperator = () => mail.received.filter(({ to }) => to.includes(notifyEmail));
    for (let n = 0; n < 22; n += 1) await lead({ email: `many-${n}@example.com` });
    await settled();
    expect(await mails()).toHaveLength(22);
    expect(toOperator()).toHaveLength(20);
    clock.advance(HOUR);
    // The batch of the other two has no message before its job has ended.
    await until(async () => {
      await mails();
      return toOperator().length > 20;
    });
    const raw = toOperator().at(-1)?.raw ?? expect.fail();
    expect((await PostalMime.parse(raw)).subject).toBe('2 more submissions within an hour');
    expect(await mails()).toHaveLength(22);
  });

  test('gets nothing about a person who was erased before the message was sent', async () => {
    refuses = true;
    await lead({ email: 'erased@example.com' });
    await settled();
    expect(await mails()).toEqual([]);
    expect(await rows()).toMatchObject([{ status: 'pending', address: null, about: null }]);
    const erased = await service.parts.storage.write((tx) => erasePerson(tx, 'erased@example.com', clock.now()));
    expect(erased).toMatchObject({ leads: 1, outbox: 2 });
    expect(await rows()).toEqual([]);
    expect(await mailsLater()).toEqual([]);
  });

  test('gets the content with SUBMISSION_RETENTION_DAYS=0, which is deleted after the message was sent', async () => {
    // The operator gets no notice, so only the contractor's notice needs the content.
    const other = await start({ NOTIFY_EMAIL: '' });
    refuses = true;
    const id = idOf(await lead({ email: 'kept@example.com' }, other));
    await settled();
    await mails();
    const { storage, log } = service.parts;
    const retention = openSubmissionRetention({ storage, clock, log, days: 0, isAwaited: noticeIsOpen });
    const emailOf = async () => {
      await retention.run();
      const found = storage.read((db) => db.selectFrom('submissions').select('email').where('id', '=', id));
      return (await found)[0]?.email;
    };
    expect(await emailOf()).toBe('kept@example.com');
    expect((await mailsLater())[0]?.text).toContain('E-mail address: kept@example.com');
    await until(async () => (await emailOf()) === null);
    await retention.close();
    await other.close();
  });

  test('gets one message with the inbox and without NOTIFY_EMAIL, and nothing once the setting is removed', async () => {
    const own = await create();
    const environment = { DATABASE_URL: own.url, UPSTREAM_URL: 'inbox:', NOTIFY_EMAIL: '' };
    const inbox = await start(environment);
    await lead({ email: 'inbox@example.com' }, inbox);
    const found = await mails(inbox);
    expect(found.map(({ replyTo }) => replyTo?.[0]?.address)).toEqual(['inbox@example.com']);
    expect(found[0]?.text).toContain('\nStatus: stored in the inbox\n');
    refuses = true;
    await lead({ email: 'removed@example.com' }, inbox);
    await mails(inbox);
    await inbox.close();
    const removed = await start({ ...environment, CONTRACTOR_EMAIL: '' });
    await lead({ email: 'unset@example.com' }, removed);
    expect(await mailsLater(removed)).toHaveLength(1);
    expect((await rows(removed)).map(({ status }) => status)).toEqual(['sent', 'sent']);
    await removed.close();
    await own.remove();
  });
});
