/** Acknowledgements, sent by running services to a real mail server (reference §11.8, `ACKNOWLEDGE`). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { erasePerson } from '../../src/confirmations/person.ts';
import { completeExpiredAttempts } from '../../src/submissions/attempts.ts';
import { shortReference } from '../../src/submissions/submission.ts';
import { pending, pressButton } from '../confirmations/rig.ts';
import { call, executeAction, previewId, quote } from '../support/agent.ts';
import { databases } from '../support/databases.ts';
import { encodings, filledWith, leadForms, post } from '../support/forms.ts';
import { tokens } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering } from '../support/upstream.ts';
import { type AcknowledgementRig, openRig } from './acknowledgement-rig.ts';

const DAY = 24 * 3_600_000;
const LEASE_MS = 15_000;
const contact = { name: 'Canary', subject: 'Canary', message: 'Buy canary pills at https://canary.example' };

describe.each(databases)('ACKNOWLEDGE=on, on %s', (_name, create) => {
  let rig: AcknowledgementRig;
  beforeAll(async () => {
    rig = await openRig(await create());
  });
  beforeEach(() => rig.clear());
  afterAll(() => rig.end());

  const lead = async (email: string, fields: Record<string, string> = {}) => {
    const answer = await post(rig.service, '/api/leads', 'json', {
      form: 'homeowner_quote',
      ...quote,
      ...fields,
      email,
    });
    await rig.settled();
    return answer;
  };
  const idOf = (answer: { headers: Headers }) => answer.headers.get('submission-reference') ?? expect.fail();
  const to = async () => (await rig.mails()).map(({ to }) => to?.[0]?.address);

  test('names the form, the recipient, the short reference and the contact, and says what to do', async () => {
    const answer = await lead('ada@example.com');
    const [message, ...others] = await rig.mails();
    expect(others).toEqual([]);
    expect(message?.to).toEqual([{ name: '', address: 'ada@example.com' }]);
    expect(message?.replyTo).toBeUndefined();
    expect(message?.subject).toBe('We received your form: Request a quote');
    expect(message?.headers).toContainEqual(
      expect.objectContaining({ key: 'auto-submitted', value: 'auto-generated' }),
    );
    expect(message?.text?.trimEnd()).toBe(`Hello,

we received a form with your e-mail address.

Form: Request a quote
Goes to: Vetted Painters
Reference: ${shortReference(idOf(answer))}

You don't need to do anything now. Vetted Painters reads the form and
answers you. Allow two working days. Please don't send the form again.

If you get no answer, contact us and give the reference:
hello@paint.example

If you did not send this form, somebody may have entered your address
by mistake. Do nothing, or ask us to delete the data. Your data, and
how long we store it:
${rig.service.url}/privacy

We sent this message automatically, at most once in 24 hours. It does
not repeat what was typed into the form.

Paint Match
${rig.service.url}`);
  });

  const toOperator = leadForms.filter(({ receivedBy }) => receivedBy === 'operator');
  test.each(toOperator)(
    'names the operator as the recipient of $name, and repeats nothing that was typed',
    async (form) => {
      const { name } = form;
      const email = 'ada+buy-canary-pills@example.com';
      const fields = filledWith(form, contact.message, email);
      const title = (await rig.service.parts.pages()).find(({ form }) => form?.name === name)?.title ?? expect.fail();
      for (const encoding of encodings) {
        await rig.clear();
        await rig.answered(post(rig.service, '/api/leads', encoding, { form: name, ...fields }));
        const [message] = await rig.mails();
        expect(message?.subject).toBe(`We received your form: ${title}`);
        expect(message?.text).toContain(`\nForm: ${title}\nGoes to: Paint Match\n`);
        const { to: address, headers, headerLines, ...others } = message ?? expect.fail();
        expect(address).toEqual([{ name: '', address: email }]);
        const header = headers.filter(({ key }) => key !== 'to');
        expect(JSON.stringify([header, others])).not.toMatch(/canary/i);
      }
    },
  );

  test.each([200, 409, 422, 429, 500])(
    'is sent once the first attempt has ended with %i, and not again',
    async (status) => {
      const email = `attempt-${status}@example.com`;
      rig.upstream.answer = answering(status);
      const first = await lead(email);
      expect(await to()).toEqual([email]);
      rig.upstream.answer = answering(200);
      await lead(email);
      expect(await to()).toEqual([email]);
      // Rows of messages are deleted after a day, and a redelivery may come later.
      await rig.service.parts.storage.write((tx) => tx.deleteFrom('messages').execute());
      await rig.resend(idOf(first));
      expect(await rig.rows()).toEqual([]);
      expect(await to()).toEqual([email]);
    },
  );

  test('is not sent before the first attempt has ended, and is sent once if the process dies in it', async () => {
    const ended = Promise.withResolvers<void>();
    rig.upstream.answer = (response) => void ended.promise.then(() => response.writeHead(200).end());
    const before = rig.upstream.delivered.length;
    const answer = post(rig.service, '/api/leads', 'json', { form: 'contact', ...contact, email: 'crash@example.com' });
    await until(() => rig.upstream.delivered.length > before);
    expect(await rig.mails()).toEqual([]);
    await rig.service.parts.storage.write((tx) =>
      tx
        .updateTable('submissions')
        .set((row) => ({ lease_started_ms: row('lease_started_ms', '-', LEASE_MS + 1) }))
        .where('status', '=', 'sending')
        .execute(),
    );
    expect(await completeExpiredAttempts(rig.service.parts.submissions)).toBe(1);
    expect(await to()).toEqual(['crash@example.com']);
    ended.resolve();
    await answer;
    expect(await to()).toEqual(['crash@example.com']);
  });

  test('is sent for an execution that ended submitted, and not for a failed or replayed one', async () => {
    rig.upstream.answer = answering(500);
    const failed = { ...quote, email: 'failed@example.com' };
    await executeAction(rig.service, await previewId(rig.service, 'homeowner_quote', failed));
    expect(await rig.mails()).toEqual([]);
    rig.upstream.answer = answering(200);
    const preview = await previewId(rig.service, 'homeowner_quote', { ...quote, email: 'agent@example.com' });
    const receipts = [];
    for (let time = 0; time < 3; time += 1) {
      receipts.push((await executeAction(rig.service, preview, { key: 'once' })).body.receipt);
    }
    expect(receipts.map(({ status }) => status)).toEqual(['submitted', 'submitted', 'submitted']);
    const found = await rig.mails();
    expect(found.map(({ to }) => to?.[0]?.address)).toEqual(['agent@example.com']);
    expect(found[0]?.text).toContain(
      `\nForm: Request a quote\nGoes to: Vetted Painters\nReference: ${shortReference(receipts[0].action_id)}\n`,
    );
  });

  test('is sent after a person has sent a confirmation, and not after they have declined', async () => {
    const declined = await pending(rig.service, { fields: { ...quote, email: 'declined@example.com' } });
    await pressButton(rig.service, declined.path, 'decline');
    const asked = await pending(rig.service, { fields: { ...quote, email: 'page@example.com' } });
    expect(await rig.mails()).toEqual([]);
    await pressButton(rig.service, asked.path, 'send');
    expect(await to()).toEqual(['page@example.com']);
  });

  test('is not sent for newsletter subscriptions, honeypots, refused forms and sandbox clients', async () => {
    const email = 'nobody@example.com';
    const forms = [
      { form: 'newsletter', email },
      { email },
      { form: 'contact', ...contact, email, 'bot-field': 'x' },
      { form: 'contact', email },
    ];
    const statuses = [];
    for (const fields of forms) {
      const answer = await rig.answered(post(rig.service, '/api/leads', 'json', fields as Record<string, string>));
      statuses.push(answer.status);
    }
    expect(statuses).toEqual([200, 200, 200, 400]);
    await rig.answered(post(rig.service, '/api/subscribe', 'json', { email, privacy: 'on' }));
    const newsletter = await previewId(rig.service, 'newsletter', { email });
    const executed = await executeAction(rig.service, newsletter, { action: 'newsletter' });
    const headers = { authorization: `Bearer ${tokens.sandbox}` };
    const path = '/api/agent/actions/homeowner_quote/preview';
    const { body } = await call(rig.service, path, { headers, body: JSON.stringify({ ...quote, email }) });
    const tested = await executeAction(rig.service, body.preview_id, { token: tokens.sandbox });
    expect([executed, tested].map((answer) => answer.body.receipt.status)).toEqual(['submitted', 'submitted']);
    expect(await rig.rows()).toEqual([]);
    expect((await rig.mails()).filter(({ subject }) => subject?.startsWith('We received'))).toEqual([]);
  });

  test('is sent once in 24 hours to a mailbox without its plus-tag, from all forms together', async () => {
    await lead('Ada+one@Example.com');
    await rig.mails();
    rig.clock.advance(60_000);
    await lead('ada@example.com', { form: 'contact', ...contact });
    const preview = await previewId(rig.service, 'homeowner_quote', { ...quote, email: 'ada+two@example.com' });
    await executeAction(rig.service, preview);
    await lead('ada@example.org');
    expect((await to()).sort()).toEqual(['ada+one@example.com', 'ada@example.org']);
    rig.clock.advance(DAY - 60_001);
    await lead('ada@example.com', { message: 'A' });
    expect(await to()).toHaveLength(2);
    rig.clock.advance(1);
    const answer = await lead('ada+three@example.com', { message: 'B' });
    const [latest, ...others] = (await rig.mailsLater()).slice(2);
    expect(others).toEqual([]);
    expect(latest?.to).toEqual([{ name: '', address: 'ada+three@example.com' }]);
    expect(latest?.text).toContain(`\nReference: ${shortReference(idOf(answer))}\n`);
  });
  test('is sent once if 20 forms with one mailbox reach two instances at the same time', async () => {
    const other = await rig.instance();
    const forms = Array.from({ length: 20 }, (_, n) =>
      post(n % 2 === 0 ? rig.service : other, '/api/leads', 'json', {
        form: 'contact',
        ...contact,
        email: `race+${n}@example.com`,
      }),
    );
    expect((await Promise.all(forms)).map(({ status }) => status)).toEqual(forms.map(() => 200));
    await rig.mails();
    await Promise.all([rig.service, other].map(({ parts }) => parts.outbox?.work()));
    expect(await rig.rows()).toHaveLength(1);
    expect(await to()).toHaveLength(1);
    await other.close();
  });

  test('does not count confirmations of subscriptions, which have a limit of their own', async () => {
    await rig.answered(post(rig.service, '/api/subscribe', 'json', { email: 'both@example.com', privacy: 'on' }));
    await lead('both@example.com');
    expect(await to()).toEqual(['both@example.com', 'both@example.com']);
  });

  test('comes after notices and alerts if they share the budget of a minute', async () => {
    const limited = await rig.instance({ MAIL_PER_MINUTE: '1', NOTIFY_EMAIL: 'leads@paint.example' });
    await post(limited, '/api/leads', 'json', { form: 'contact', ...contact, email: 'last@example.com' });
    await rig.settled();
    await limited.parts.outbox?.work();
    expect(rig.mail.received.map(({ to }) => to[0])).toEqual(['leads@paint.example']);
    await limited.close();
  });

  test('is erased with the person before it is sent, and the mailbox then gets another one', async () => {
    await rig.refusing(() => lead('erased@example.com'));
    expect(await rig.rows()).toMatchObject([{ key: 'erased@example.com', status: 'pending' }]);
    const { storage } = rig.service.parts;
    const erased = await storage.write((tx) => erasePerson(tx, 'erased@example.com', rig.clock.now()));
    expect(erased).toMatchObject({ leads: 1, outbox: 1 });
    expect(await rig.rows()).toEqual([]);
    expect(await rig.mailsLater()).toEqual([]);
    await lead('erased@example.com');
    expect(await to()).toEqual(['erased@example.com']);
  });

  test('is dropped if its submission is gone, or the setting was turned off', async () => {
    await lead('gone@example.com');
    await rig.service.parts.storage.write((tx) => tx.deleteFrom('submissions').execute());
    expect(await rig.mails()).toEqual([]);
    const off = await rig.instance({ ACKNOWLEDGE: 'off' });
    await post(off, '/api/leads', 'json', { form: 'contact', ...contact, email: 'unset@example.com' });
    await rig.settled();
    expect(await rig.rows()).toEqual([]);
    await lead('off@example.com');
    await off.parts.outbox?.work();
    expect(await rig.rows()).toEqual([]);
    expect(await rig.mails()).toEqual([]);
    await off.close();
  });

  test('is sent with SUBMISSION_RETENTION_DAYS=0, whose commit deletes the content, and is deleted after a day', async () => {
    const days = await rig.instance({ SUBMISSION_RETENTION_DAYS: '0' });
    await post(days, '/api/leads', 'json', { form: 'homeowner_quote', ...quote, email: 'short@example.com' });
    await rig.settled();
    const stored = await days.parts.storage.read((db) => db.selectFrom('submissions').select('email'));
    expect(stored).toEqual([{ email: null }]);
    expect(await to()).toEqual(['short@example.com']);
    expect((await rig.mails())[0]?.text).toContain('\nGoes to: Vetted Painters\n');
    await days.close();
    rig.clock.advance(DAY + 3_600_000);
    await rig.mails();
    await until(async () => (await rig.rows()).length === 0);
  });

  test('is sent with the embedded inbox once the lead is stored, and names the contact page without a contact', async () => {
    const inbox = await rig.instance({ UPSTREAM_URL: 'inbox:', OPERATOR_CONTACT: '' });
    await post(inbox, '/api/leads', 'json', { form: 'homeowner_quote', ...quote, email: 'inbox@example.com' });
    const preview = await previewId(inbox, 'contact', { ...contact, email: 'agent-inbox@example.com' });
    await executeAction(inbox, preview, { action: 'contact' });
    await inbox.parts.outbox?.work();
    const found = await rig.mails(inbox);
    expect(found.map(({ to }) => to?.[0]?.address).sort()).toEqual(['agent-inbox@example.com', 'inbox@example.com']);
    for (const { text } of found) expect(text).toContain(`give the reference:\n${inbox.url}/contact\n`);
    await inbox.close();
  });
});
