/** Sandbox clients of a service with the embedded inbox, on both databases (reference §27.2, §27.6). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { askToConfirm, lookAt } from '../confirmations/rig.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { executeAction, previewAction, quote } from '../support/agent.ts';
import { steppedClock, type TestClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { callTool, confirmed } from '../support/mcp.ts';
import { getReceipt, newKey } from '../support/receipts.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';

const token = tokens.sandbox;
const OPERATOR = 'owner@paint.example';
const from = (local: string) => ({ ...quote, email: `${local}@example.com` });

describe.each(databases)('sandbox clients with the embedded inbox on %s', (_name, create) => {
  let database: TestDatabase;
  let mail: MailServer;
  let service: Service;
  let clock: TestClock;
  beforeAll(async () => {
    database = await create();
    mail = await startMailServer();
    clock = steppedClock();
    const environment = {
      DATABASE_URL: database.url,
      UPSTREAM_URL: 'inbox:',
      SMTP_URL: mail.url,
      NOTIFY_EMAIL: OPERATOR,
      ALERT_EMAIL: OPERATOR,
      RECEIPT_SIGNING_KEYS: newKey(),
    };
    service = await startService({ clock, environment });
  });
  afterAll(async () => {
    await service.close();
    await mail.close();
    await database.remove();
  });

  const rows = (table: 'submissions' | 'messages') =>
    service.parts.storage.read((db) => db.selectFrom(table).select((row) => row.lit(1).as('one')));
  const previewOf = async (fields: object, by: string = token): Promise<string> =>
    (await previewAction(service, 'homeowner_quote', fields, { token: by })).body.preview_id;
  /** Expects no submission, no queued message and no mail. */
  const expectNothing = async () => {
    clock.advance(10_000);
    await service.parts.outbox?.work();
    expect([await rows('submissions'), await rows('messages'), mail.offered]).toEqual([[], [], []]);
  };

  test.each([
    ['ada', 200, 'submitted'],
    ['ada+rejected', 422, 'failed'],
    ['ada+limited', 429, 'failed'],
    ['ada+unconfirmed', 502, 'failed'],
  ])('an execution for %s answers %i and leaves no submission, no mail and no notice', async (local, status, ended) => {
    const { body, ...answer } = await executeAction(service, await previewOf(from(local)), { token });
    expect([answer.status, body.receipt.status, answer.headers.get('sandbox')]).toEqual([status, ended, 'true']);
    const signed = await getReceipt(service, body.receipt.action_id, token);
    expect([signed.status, signed.body.receipt]).toEqual([200, body.receipt]);
    await expectNothing();
  });

  test('a tool sends nothing either', async () => {
    const { structuredContent } = await callTool(service, 'preview_homeowner_quote', from('bea'), { token });
    const sent = await callTool(service, 'submit', confirmed(structuredContent.preview_id), { token });
    expect(sent.structuredContent.receipt.status).toBe('submitted');
    await expectNothing();
  });

  test.each([
    ['cleo+presses', 'submitted'],
    ['cleo+presses+rejected', 'failed'],
    ['cleo+declines', 'declined'],
  ])('a confirmation of %s ends as %s and leaves nothing', async (local, status) => {
    const asked = await askToConfirm(service, await previewOf(from(local)), { token, via: 'page_email' });
    const { id } = asked.body.confirmation;
    clock.advance(2_000);
    await until(async () => (await lookAt(service, id, { token })).body.confirmation.status === status);
    await expectNothing();
  });

  test('an execution of a real client is a submission with a notice', async () => {
    const { status } = await executeAction(service, await previewOf(quote, tokens.both));
    expect([status, (await rows('submissions')).length]).toEqual([200, 1]);
    await service.parts.outbox?.work();
    expect(mail.offered).toEqual([OPERATOR]);
  });
});
