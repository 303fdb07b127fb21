/** Sandbox clients over HTTP, with a real upstream, a mail server and both databases (reference §27). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { latestQuestions } from '../../src/confirmations/confirmations.ts';
import { openSandboxRetention } from '../../src/sandbox/retention.ts';
import { askToConfirm, lookAt, openPage, pending, pressButton } from '../confirmations/rig.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { call, executeAction, previewAction, quote } from '../support/agent.ts';
import { steppedClock, type TestClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { callTool, confirmed, send } from '../support/mcp.ts';
import { newKey } from '../support/receipts.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const token = tokens.sandbox;
const OWNER = 'owner@paint.example';
const from = (local: string, domain = 'example.com') => ({ ...quote, email: `${local}@${domain}` });

describe.each(databases)('sandbox clients on %s', (_name, create) => {
  let database: TestDatabase;
  let upstream: ProgrammableUpstream;
  let mail: MailServer;
  let service: Service;
  let clock: TestClock;
  let environment: Record<string, string>;

  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    mail = await startMailServer();
    clock = steppedClock();
    environment = {
      DATABASE_URL: database.url,
      UPSTREAM_URL: upstream.url,
      SMTP_URL: mail.url,
      NOTIFY_EMAIL: OWNER,
      ALERT_EMAIL: OWNER,
      RECEIPT_SIGNING_KEYS: newKey(),
    };
    service = await startService({ clock, environment });
  });
  beforeEach(() => clock.advance(1_000));
  afterAll(async () => {
    await service.close();
    await Promise.all([upstream.close(), mail.close()]);
    await database.remove();
  });

  const count = async (table: 'executions' | 'submissions' | 'messages' | 'confirmations' | 'sandbox_contents') => {
    const rows = await service.parts.storage.read((db) => db.selectFrom(table).select((row) => row.lit(1).as('one')));
    return rows.length;
  };
  const previewOf = async (fields: object = quote, by: string = token) =>
    (await previewAction(service, 'homeowner_quote', fields, { token: by })).body.preview_id as string;
  const execute = async (fields: object = quote, key = `key-${Math.random()}`) =>
    executeAction(service, await previewOf(fields), { token, key });
  const statusOf = async (id: string) => (await lookAt(service, id, { token })).body.confirmation.status;
  const ask = async (fields: object, via?: string) => {
    const answer = await askToConfirm(service, await previewOf(fields), { token, ...(via && { via }) });
    expect([answer.status, answer.headers.get('sandbox')]).toEqual([201, 'true']);
    const { id, confirmation_url: url } = answer.body.confirmation;
    return { id: String(id), path: new URL(url).pathname };
  };
  /** Expects that nothing of a run left the service: no byte, no mail, no submission and no message. */
  const expectSilence = async <T>(run: () => Promise<T>): Promise<T> => {
    const before = [await count('submissions'), await count('messages'), upstream.delivered.length];
    const result = await run();
    clock.advance(10_000);
    expect([await count('submissions'), await count('messages'), upstream.delivered.length]).toEqual(before);
    expect(mail.offered.filter((address) => address !== OWNER)).toEqual([]);
    return result;
  };

  test.each([
    ['ada', 'example.com', 200, 'submitted'],
    ['ada+rejected', 'example.com', 422, 'failed'],
    ['ADA+REJECTED', 'EXAMPLE.ORG', 422, 'failed'],
    ['ada+limited', 'example.net', 429, 'failed'],
    ['ada+unconfirmed', 'example.com', 502, 'failed'],
    ['ada+rejected+home', 'example.com', 200, 'submitted'],
    ['ada+rejected', 'example.com.example', 200, 'submitted'],
    ['ada+rejected', 'painter.example', 200, 'submitted'],
    ['rejected', 'example.com', 200, 'submitted'],
  ])('executes for %s@%s with %i, marks the answer, and sends nothing', async (local, domain, status, ended) => {
    const preview = await previewOf(from(local, domain));
    const [first, again] = await expectSilence(async () => [
      await executeAction(service, preview, { token, key: preview.slice(-9) }),
      await executeAction(service, preview, { token, key: preview.slice(-9) }),
    ]);
    expect([first?.status, first?.body.receipt.status, first?.headers.get('sandbox')]).toEqual([status, ended, 'true']);
    if (status === 429) expect(first?.headers.get('retry-after')).toBe('30');
    expect(again?.body.receipt).toEqual(first?.body.receipt);
    expect(again?.headers.get('sandbox')).toBe('true');
  });

  test('answers +slow after 5 s of its own clock', async () => {
    const answering = execute(from('ada+slow'));
    let status: number | undefined;
    void answering.then((answer) => {
      status = answer.status;
    });
    await until(async () => (await count('executions')) > 0);
    for (let second = 0; second < 4; second += 1) clock.advance(1_000);
    // An answer that did not wait would arrive before the answers to these requests.
    for (let asked = 0; asked < 5; asked += 1) await previewOf();
    expect(status).toBeUndefined();
    await until(async () => {
      clock.advance(500);
      return status !== undefined;
    });
    expect((await answering).body.receipt.status).toBe('submitted');
  });

  test('marks every answer from the credential check on, refusals too, and no answer to a real client', async () => {
    const headers = { authorization: `Bearer ${token}`, 'idempotency-key': 'k' };
    const id = '0191ab6f-2d40-7c11-8f37-2a6a4f1f9c11';
    const marks = async (by: string) => {
      const answers = [
        await previewAction(service, 'contact', {}, { token: by }),
        await executeAction(service, 'x', { token: by, key: null }),
        await executeAction(service, 'x', { token: by }),
        await askToConfirm(service, 'x', { token: by }),
        await lookAt(service, id, { token: by }),
        await lookAt(service, id, { token: by, method: 'DELETE' }),
        await call(service, `/api/agent/receipts/${id}`, {
          method: 'GET',
          headers: { ...headers, authorization: `Bearer ${by}` },
        }),
        await send(service, 'tools/list', {}, { token: by }),
        await send(service, 'tools/call', {}, { token: by, raw: '[]' }),
      ];
      return answers.map((answer) => answer.headers.get('sandbox'));
    };
    expect(new Set(await marks(token))).toEqual(new Set(['true']));
    expect(new Set(await marks(tokens.both))).toEqual(new Set([null]));
  });

  test('refuses a preview of the other kind with 400, which consumes nothing', async () => {
    const [test, real] = [await previewOf(), await previewOf(quote, tokens.both)];
    const mixed = [
      await executeAction(service, test, { token: tokens.both, key: 'mix' }),
      await executeAction(service, real, { token, key: 'mix' }),
      await askToConfirm(service, test, { token: tokens.both, key: 'mix' }),
      await askToConfirm(service, real, { token, key: 'mix' }),
    ];
    expect(mixed.map(({ status }) => status)).toEqual([400, 400, 400, 400]);
    const used = await executeAction(service, test, { token, key: 'mix' });
    expect(used.status).toBe(200);
    // A used preview is still 400 for the other kind.
    expect((await executeAction(service, test, { token: tokens.both, key: 'mix' })).status).toBe(400);
    expect((await executeAction(service, real, { token: tokens.both, key: 'mix' })).status).toBe(200);
    expect(upstream.delivered.at(-1)?.event.data.client).toBe('acme');
  });

  test('a confirmation shows that it is a test, needs 000000, and mails nothing', async () => {
    await expectSilence(async () => {
      const { id, path } = await ask(from('bea'), 'page_email');
      expect((await openPage(service, path)).text).toContain('This is a test. Nothing will be sent.');
      expect((await pressButton(service, path, 'code')).status).toBe(303);
      expect((await pressButton(service, path, 'check', { code: '000001' })).text).not.toContain('bea@example.com');
      const { text } = await pressButton(service, path, 'check', { code: '000 000' });
      expect(text).toContain('bea@example.com');
      const pageToken = /name="token" value="([^"]+)"/.exec(text)?.[1] ?? '';
      await pressButton(service, path, 'send', { token: pageToken });
      expect(await statusOf(id)).toBe('submitted');
      expect((await openPage(service, path)).text).toContain('This is a test. Nothing will be sent.');
    });
  });

  test('the page of a real client has no such text', async () => {
    const { path } = await pending(service);
    expect((await openPage(service, path)).text).not.toContain('This is a test');
  });

  test.each([
    ['ada+presses', 'submitted'],
    ['ada+presses+rejected', 'failed'],
    ['ada+declines', 'declined'],
    ['ada+declines+rejected', 'declined'],
  ])('answers the confirmation of %s by itself after 2 s as %s', async (local, status) => {
    const { id } = await expectSilence(async () => {
      const asked = await ask(from(local));
      clock.advance(1_900);
      expect(await statusOf(asked.id)).toBe('pending');
      clock.advance(100);
      await until(async () => (await statusOf(asked.id)) !== 'pending');
      return asked;
    });
    expect(await statusOf(id)).toBe(status);
  });

  test('answers no confirmation before its 2 s, although the job runs for another one', async () => {
    const first = await ask(from('ada+presses'));
    clock.advance(1_900);
    const second = await ask(from('bob+presses'));
    clock.advance(100);
    await until(async () => (await statusOf(first.id)) === 'submitted');
    expect(await statusOf(second.id)).toBe('pending');
    clock.advance(1_900);
    await until(async () => (await statusOf(second.id)) === 'submitted');
  });

  test('answers a confirmation after a restart', async () => {
    const { id } = await ask(from('ada+presses'));
    await service.close();
    clock.advance(2_000);
    service = await startService({ clock, environment });
    await until(async () => {
      clock.advance(100);
      return (await statusOf(id)) === 'submitted';
    });
  });

  test('leaves a confirmation without a tag pending, and does not press for a real client', async () => {
    const { id } = await ask(from('ada'));
    const real = await pending(service, { fields: from('ada+presses') });
    clock.advance(10_000);
    expect(await statusOf(id)).toBe('pending');
    expect((await lookAt(service, real.id)).body.confirmation.status).toBe('pending');
  });

  test('signs the receipt with the claim sandbox and with disclosures', async () => {
    const { body } = await execute(from('cleo'));
    const read = () =>
      call(service, `/api/agent/receipts/${body.receipt.action_id}`, {
        method: 'GET',
        headers: { authorization: `Bearer ${token}` },
      });
    const first = await read();
    expect(first.headers.get('sandbox')).toBe('true');
    const claims = JSON.parse(Buffer.from(first.body.signed_receipt.split('.')[1], 'base64url').toString());
    expect([claims.sandbox, claims.client]).toEqual([true, 'tester']);
    const shown = first.body.disclosures.map((each: string) => JSON.parse(Buffer.from(each, 'base64url').toString()));
    expect(shown.map(([, name]: string[]) => name).sort()).toEqual(['email', 'name', 'postal_code']);
    expect((await read()).body).toEqual(first.body);
  });

  test('the tools preview, send and confirm without a byte to the upstream', async () => {
    await expectSilence(async () => {
      const previewed = await callTool(service, 'preview_homeowner_quote', from('ada+rejected'), { token });
      const answer = await callTool(service, 'submit', confirmed(previewed.structuredContent.preview_id), { token });
      expect([answer.isError, JSON.stringify(answer.content)]).toEqual([true, expect.stringContaining('rejected')]);
      const second = await callTool(service, 'preview_homeowner_quote', from('dot+presses'), { token });
      const preview = { preview_id: second.structuredContent.preview_id };
      const asked = await callTool(service, 'request_confirmation', preview, { token });
      expect(asked.structuredContent.confirmation.status).toBe('pending');
    });
  });

  test('leaves out a report from the operator, and refuses the sandbox client alone', async () => {
    await expectSilence(async () => {
      const { id, path } = await ask(from('eve'));
      await pressButton(service, path, 'report');
      expect(await statusOf(id)).toBe('reported');
      expect((await execute(from('eve'))).status).toBe(403);
    });
    const real = await previewOf(from('eve'), tokens.both);
    expect((await executeAction(service, real, { token: tokens.both })).status).toBe(200);
  });

  test('the console lists no confirmation of a sandbox client', async () => {
    const questions = await latestQuestions(service.parts.storage, 100);
    expect(questions.filter(({ client }) => client === 'tester')).toEqual([]);
    expect(questions.length).toBeGreaterThan(0);
  });

  test('the first sweep after 24 hours deletes everything of sandbox clients, and nothing of real ones', async () => {
    const marked = async (table: 'executions' | 'confirmations' | 'confirmation_reports') => {
      const rows = await service.parts.storage.read((db) => db.selectFrom(table).select('sandbox'));
      return [rows.filter(({ sandbox }) => sandbox === 1).length, rows.filter(({ sandbox }) => sandbox === 0).length];
    };
    const reported = await pending(service, { fields: from('fay') });
    await pressButton(service, reported.path, 'report');
    await pressButton(service, (await ask(from('gil'))).path, 'report');
    expect(await marked('confirmation_reports')).toEqual([expect.toSatisfy((rows) => rows > 0), 1]);
    await execute();
    // Retention leaves an execution with a running lease.
    await service.parts.storage.write((tx) => tx.updateTable('executions').set({ lease_started_ms: 0 }).execute());
    const [tests = 0, real = 0] = await marked('executions');
    const sweep = openSandboxRetention({ ...service.parts, clock });
    await sweep.work();
    expect(await marked('executions')).toEqual([tests, real]);
    expect(tests).toBeGreaterThan(0);
    expect(real).toBeGreaterThan(0);
    const asked = await marked('confirmations');
    clock.advance(24 * 3_600_000 + 1);
    await until(async () => {
      await sweep.work();
      return (await marked('executions'))[0] === 0;
    });
    expect((await marked('executions'))[1]).toBe(real);
    expect(await count('sandbox_contents')).toBe(0);
    expect(await marked('confirmations')).toEqual([0, asked[1]]);
    expect(await marked('confirmation_reports')).toEqual([0, 1]);
  });
});

test('returns 503 for a part that is not configured, with the header', async () => {
  const service = await startService({ environment: { UPSTREAM_URL: '', SMTP_URL: '', MAIL_FROM: '' } });
  const answers = [
    await previewAction(service, 'contact', {}, { token }),
    await executeAction(service, 'x', { token }),
    await askToConfirm(service, 'x', { token }),
  ];
  expect(answers.map(({ status, headers }) => [status, headers.get('sandbox')])).toEqual(Array(3).fill([503, 'true']));
  await service.close();
});
