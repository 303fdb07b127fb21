/** Refusals of a request for confirmation, in order. The minimum of an action, and reported clients (reference §6.5). */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, executeAction, previewId, quote } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { formNames } from '../support/forms.ts';
import { callTool } from '../support/mcp.ts';
import { freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { askToConfirm, lookAt, pending, pressButton } from './rig.ts';

let service: Service;
let strict: Service;
let unmailed: Service;
const clock = testClock();
beforeAll(async () => {
  service = await startService({ clock });
  strict = await startService({
    environment: { CONFIRMATION_MINIMUM: 'homeowner_quote=page_email,newsletter=page' },
  });
  unmailed = await startService({ environment: { SMTP_URL: '', MAIL_FROM: '' } });
});
afterAll(async () => {
  await Promise.all([service, strict, unmailed].map((each) => each.close()));
});

const answerOf = ({ status, body }: { status: number; body: unknown }) => [status, body];

describe('POST /api/agent/confirmations', () => {
  test('returns 401, 403 and 400 without lead:create, one key or a valid preview, in the order of execute', async () => {
    const preview = await previewId(service);
    const statusOf = async (headers: Record<string, string>, body: string) =>
      (await call(service, '/api/agent/confirmations', { headers, body })).status;
    const authorization = `Bearer ${tokens.both}`;
    expect(await statusOf({}, '')).toBe(401);
    expect(await statusOf({ authorization: `Bearer ${tokens.preview}` }, '')).toBe(403);
    expect(await statusOf({ authorization }, '{}')).toBe(400);
    expect(await statusOf({ authorization, 'idempotency-key': 'k' }, '[]')).toBe(400);
    expect(await statusOf({ authorization, 'idempotency-key': 'k' }, '{}')).toBe(400);
    for (const via of ['agent', 'client_form', '', 7, null]) {
      expect([via, (await askToConfirm(service, preview, { via })).status]).toEqual([via, 400]);
    }
    expect((await askToConfirm(service, `${preview}x`)).status).toBe(400);
    const late = await previewId(service);
    clock.advance(10 * 60_000);
    expect((await askToConfirm(service, late)).status).toBe(400);
  });

  test('returns 409 for a used preview, and for a key that was used with another preview', async () => {
    const preview = await previewId(service);
    await executeAction(service, preview, { key: 'direct' });
    for (const key of ['direct', 'another']) {
      const answer = await askToConfirm(service, preview, { key });
      expect(answerOf(answer)).toEqual([409, { error: 'preview_already_used' }]);
    }
    const conflict = await askToConfirm(service, await previewId(service), { key: 'direct' });
    expect(answerOf(conflict)).toEqual([409, { error: 'idempotency_conflict' }]);
    const asked = await pending(service);
    const rebound = await askToConfirm(
      service,
      await previewId(service, 'newsletter', { email: 'r@x.example' }),
      asked,
    );
    expect(answerOf(rebound)).toEqual([409, { error: 'idempotency_conflict' }]);
    const other = await askToConfirm(service, asked.preview, { token: tokens.other });
    expect(answerOf(other)).toEqual([409, { error: 'preview_already_used' }]);
  });

  test('answers two simultaneous requests with one confirmation, and refuses the second key of a preview', async () => {
    const preview = await previewId(service, 'newsletter', { email: 'twice@example.com' });
    const twice = await Promise.all([1, 2].map(() => askToConfirm(service, preview, { key: 'twice' })));
    expect(twice.map(({ status }) => status).sort()).toEqual([200, 201]);
    expect(twice[0]?.body.confirmation).toEqual(twice[1]?.body.confirmation);
    const another = await previewId(service, 'newsletter', { email: 'other@example.com' });
    const keyed = await Promise.all(['first', 'second'].map((key) => askToConfirm(service, another, { key })));
    expect(keyed.map(({ status }) => status).sort()).toEqual([201, 409]);
    const { body } = keyed.find(({ status }) => status === 409) as { body: unknown };
    expect(body).toEqual({ error: 'preview_already_used' });
  });

  test('returns 503 for page_email if the service sends no mail', async () => {
    const preview = await previewId(unmailed);
    expect((await askToConfirm(unmailed, preview, { via: 'page_email' })).status).toBe(503);
    expect((await askToConfirm(unmailed, preview)).status).toBe(201);
  });

  test('returns 429 to a client with 200 pending confirmations until the oldest ends', async () => {
    for (let n = 0; n < 200; n += 1) {
      const fields = { email: `many-${n}@example.com` };
      await pending(service, { action: 'newsletter', fields, token: tokens.other });
    }
    const fields = { email: 'one-more@example.com' };
    const preview = await previewId(service, 'newsletter', fields);
    clock.advance(60_000);
    const full = await askToConfirm(service, preview, { token: tokens.other });
    expect([full.status, full.headers.get('retry-after')]).toEqual([429, String(59 * 60)]);
    expect((await askToConfirm(service, preview)).status).toBe(201);
    // A request that replaces an earlier one of the same action and mailbox adds none.
    const replacing = await previewId(service, 'newsletter', { email: 'many-100@example.com' });
    expect((await askToConfirm(service, replacing, { token: tokens.other })).status).toBe(201);
    clock.advance(59 * 60_000);
    const later = await previewId(service, 'newsletter', fields);
    expect((await askToConfirm(service, later, { token: tokens.other })).status).toBe(201);
  });

  test('allows 20 requests for a confirmation a minute, and 60 reads and deletions of confirmations', async () => {
    const headers = { authorization: `Bearer ${tokens.both}`, 'x-forwarded-for': freshAddress() };
    const ask = () => call(service, '/api/agent/confirmations', { headers, body: '{}' });
    for (let n = 0; n < 20; n += 1) expect((await ask()).status).toBe(400);
    const over = await ask();
    expect([over.status, over.headers.has('retry-after')]).toEqual([429, true]);
    const read = (method: string) => call(service, '/api/agent/confirmations/none', { method, headers });
    for (let n = 0; n < 60; n += 1) expect((await read(n % 2 ? 'GET' : 'DELETE')).status).toBe(404);
    expect((await read('GET')).status).toBe(429);
  });
});

describe('GET and DELETE /api/agent/confirmations/:id', () => {
  test('answer only the client that made the request, and DELETE needs lead:create', async () => {
    const { id } = await pending(service);
    expect((await lookAt(service, id, { token: tokens.other })).status).toBe(404);
    expect((await lookAt(service, id, { token: 'none' })).status).toBe(401);
    expect((await lookAt(service, id, { token: tokens.preview, method: 'DELETE' })).status).toBe(403);
    expect((await lookAt(service, id, { token: tokens.preview })).status).toBe(404);
    expect((await lookAt(service, id, { method: 'PUT' })).status).toBe(405);
  });
});

describe('minimum of an action', () => {
  test('is in the manifest, and execute refuses a weaker confirmation with 409 and keeps the preview usable', async () => {
    const manifest = await call(strict, '/api/agent/manifest', { method: 'GET' });
    const minimums = manifest.body.actions.map((each: { action: string; confirmation_minimum: string }) => [
      each.action,
      each.confirmation_minimum,
    ]);
    expect(Object.fromEntries(minimums)).toEqual({
      ...Object.fromEntries(formNames.map((name) => [name, 'agent'])),
      homeowner_quote: 'page_email',
      newsletter: 'page',
    });
    const preview = await previewId(strict);
    const refused = await executeAction(strict, preview, { key: 'k' });
    expect(answerOf(refused)).toEqual([409, { error: 'human_confirmation_required' }]);
    expect((await executeAction(strict, `${preview}x`)).status).toBe(400);
    expect((await askToConfirm(strict, preview, { key: 'k', via: 'page' })).status).toBe(400);
    const asked = await askToConfirm(strict, preview, { key: 'k' });
    expect([asked.status, asked.body.confirmation.via]).toEqual([201, 'page_email']);
  });

  test('applies to MCP tools: submit refuses and names request_confirmation', async () => {
    const { structuredContent } = await callTool(strict, 'preview_homeowner_quote', quote);
    const { preview_id } = structuredContent;
    const refused = await callTool(strict, 'submit', { preview_id });
    expect([refused.isError, refused.content[0].text]).toEqual([
      true,
      expect.stringContaining('Call request_confirmation'),
    ]);
    const asked = await callTool(strict, 'request_confirmation', { preview_id });
    const { id, confirmation_url: url } = asked.structuredContent.confirmation;
    expect(asked.content[0].text).toContain('get_receipt');
    expect(await callTool(strict, 'request_confirmation', { preview_id })).toEqual(asked);
    const waiting = await callTool(strict, 'submit', { preview_id });
    expect(waiting.content[0].text).toContain('get_receipt');
    const seen = await callTool(strict, 'get_receipt', { action_id: id });
    expect(seen.structuredContent.confirmation).toMatchObject({ id, status: 'pending' });
    expect(JSON.stringify(seen)).not.toContain('/confirm/');
    await pressButton(strict, new URL(url).pathname, 'decline');
    expect((await callTool(strict, 'submit', { preview_id })).content[0].text).toContain('(confirmation_declined)');
  });

  test.each(['page,page', 'page,newsletter=page', 'newsletter=page,newsletter=page', 'x', 'x=page'])(
    'the service does not start with CONFIRMATION_MINIMUM=%s',
    async (text) => {
      await expect(startService({ environment: { CONFIRMATION_MINIMUM: text } })).rejects.toThrow(
        /CONFIRMATION_MINIMUM must be/,
      );
    },
  );
});

describe('reported client', () => {
  test('gets 403 for the mailbox that reported it, for any action and tag, while other clients do not', async () => {
    const email = 'Grace+tag@example.com';
    const { path } = await pending(service, { action: 'newsletter', fields: { email } });
    const sent = await previewId(service, 'newsletter', { email: 'grace@example.com' });
    await executeAction(service, sent, { action: 'newsletter', key: 'before' });
    const before = await previewId(service);
    await pressButton(service, path, 'report');
    expect(service.logs.join('')).toContain('confirmation reported');
    const preview = await previewId(service, 'contact', {
      name: 'Grace',
      email: 'grace+other@example.com',
      subject: 's',
      message: 'm',
    });
    const refused = await executeAction(service, preview, { action: 'contact' });
    expect(refused.status).toBe(403);
    expect((await askToConfirm(service, preview)).status).toBe(403);
    const tool = await callTool(service, 'submit', {
      preview_id: preview,
      confirmation: true,
      confirmation_text: 'I confirm that Service may use these details for the selected action.',
    });
    expect(tool.content[0].text).toContain('as unwanted');
    // A replay is not refused, nor is another mailbox or another client.
    const replay = await executeAction(service, sent, { action: 'newsletter', key: 'before' });
    expect(replay.body.replay).toBe(true);
    expect((await executeAction(service, before)).status).toBe(200);
    const other = await executeAction(service, preview, {
      action: 'contact',
      token: tokens.other,
    });
    expect(other.status).toBe(200);
  });
});

test('the button “Send” gets 409 if the contractor was replaced after the request, and nothing is sent', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'replaced-'));
  const before = await startService({ folder, clock });
  const { id, path } = await pending(before);
  await before.close();
  const after = await startService({ folder, clock, environment: { CONTRACTOR_NAME: 'Other Painters' } });
  const { status, text } = await pressButton(after, path, 'send');
  expect([status, text]).toEqual([409, expect.stringContaining('The recipient has changed')]);
  expect((await lookAt(after, id)).body.confirmation.status).toBe('pending');
  await after.close();
  rmSync(folder, { recursive: true });
});
