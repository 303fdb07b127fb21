/** Each state of a confirmation, and the answer of execute in it (reference §6.3, the table), on both databases. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { shortReference } from '../../src/submissions/submission.ts';
import { executeAction, previewId } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { callTool } from '../support/mcp.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { askToConfirm, lookAt, openPage, pending, pressButton } from './rig.ts';

describe.each(databases)('states of a confirmation on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  const clock = testClock();
  beforeAll(async () => {
    database = await create();
    service = await startService({ clock, environment: { DATABASE_URL: database.url } });
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  const kept = async () =>
    (await service.parts.storage.read((db) => db.selectFrom('submissions').select(['id', 'status', 'event']))).map(
      (row) => ({ ...row, event: JSON.parse(row.event) }),
    );
  const statusOf = async (id: string) => (await lookAt(service, id)).body.confirmation.status;

  test('a request returns a pending confirmation to its client and sends nothing', async () => {
    const preview = await previewId(service);
    const before = await kept();
    const { status, body, headers } = await askToConfirm(service, preview);
    expect(status).toBe(201);
    expect(headers.get('cache-control')).toBe('no-store');
    const { confirmation } = body;
    expect(body).toEqual({
      ok: true,
      confirmation: {
        id: expect.stringMatching(/^[0-9a-f-]{36}$/),
        status: 'pending',
        via: 'page',
        action: 'homeowner_quote',
        destination: 'Vetted Painters',
        confirmation_url: expect.stringMatching(/^http:.*\/confirm\/[A-Za-z0-9_-]{22}$/),
        created_at: expect.any(String),
        expires_at: expect.any(String),
      },
    });
    const lifetime = Date.parse(confirmation.expires_at) - Date.parse(confirmation.created_at);
    expect(lifetime).toBe(60 * 60_000);
    const { confirmation_url: _, ...told } = confirmation;
    const seen = await lookAt(service, confirmation.id, { token: tokens.rotated });
    expect([seen.status, seen.body]).toEqual([200, { ok: true, confirmation: told }]);
    expect(seen.headers.get('retry-after')).toBe('5');
    expect(await kept()).toEqual(before);
  });

  test.each(['%00', 'x%00y', 'x'])('returns 404 to GET and DELETE of the unknown id %s', async (id) => {
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await lookAt(service, id, { method });
      expect([status, body.error]).toEqual([404, 'There is no such confirmation for this client.']);
    }
    const named = { action_id: decodeURIComponent(id) };
    const { isError, content } = await callTool(service, 'get_receipt', named);
    expect([isError, content[0].text]).toEqual([true, expect.stringMatching(/^There is no such receipt/)]);
  });

  test('returns the same confirmation for a repeated key and preview, even with another via', async () => {
    const { id, url, key, preview } = await pending(service);
    const again = await askToConfirm(service, preview, { key, via: 7 });
    expect(again.status).toBe(200);
    expect(again.body.confirmation).toMatchObject({ id, confirmation_url: url, status: 'pending' });
  });

  test('while pending, execute returns 409: human_confirmation_required for its key, preview_already_used for another', async () => {
    const { key, preview } = await pending(service);
    const own = await executeAction(service, preview, { key });
    expect([own.status, own.body]).toEqual([409, { error: 'human_confirmation_required', retryable: true }]);
    expect(own.headers.get('retry-after')).toBe('5');
    clock.advance(11 * 60_000);
    expect((await executeAction(service, preview, { key })).body.error).toBe('human_confirmation_required');
    for (const other of [{ key: 'another' }, { key, token: tokens.other }]) {
      const { status, body } = await executeAction(service, preview, other);
      expect([status, body]).toEqual([409, { error: 'preview_already_used' }]);
    }
  });

  test('sends once when the person confirms, with that time in the receipt, and execute replays the receipt', async () => {
    const { id, path, key, preview } = await pending(service);
    clock.advance(60_000);
    const pressed = await pressButton(service, path, 'send');
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, path]);
    const { body } = await lookAt(service, id);
    expect(body.confirmation.status).toBe('submitted');
    expect(body.receipt).toMatchObject({ action_id: id, status: 'submitted' });
    expect(Date.parse(body.receipt.created_at)).toBe(Date.parse(body.confirmation.created_at) + 60_000);
    expect(body.receipt.consent_recorded_at).toBe(body.receipt.created_at);
    const replay = await executeAction(service, preview, { key });
    expect([replay.status, replay.body]).toEqual([200, { ok: true, receipt: body.receipt, replay: true }]);
    expect((await executeAction(service, preview, { key: 'k2' })).body.error).toBe('preview_already_used');
    const sent = (await kept()).filter((row) => row.id === id);
    expect(sent).toHaveLength(1);
    expect(sent[0]?.event.data).toMatchObject({
      client: 'acme',
      origin: 'agent',
      consent_recorded_at: body.receipt.created_at,
    });
    const [row] = await service.parts.storage.read((db) =>
      db.selectFrom('executions').select('confirmed_via').where('action_id', '=', id),
    );
    expect(row?.confirmed_via).toBe('page');
    const ended = await openPage(service, path);
    expect(ended.text).toContain(`Your reference: <code>${shortReference(id)}</code>`);
    expect(ended.text).not.toContain(id);
    // A second click finds it settled.
    expect((await pressButton(service, path, 'send', { token: 'x' })).status).toBe(303);
    expect((await kept()).filter((each) => each.id === id)).toHaveLength(1);
  });

  test.each([
    ['decline', 'declined'],
    ['report', 'reported'],
  ])('%s ends the confirmation as %s for all clients and sends nothing', async (button, status) => {
    const fields = { email: `${button}@example.com` };
    const { id, path, key, preview } = await pending(service, { action: 'newsletter', fields });
    expect((await pressButton(service, path, button)).status).toBe(303);
    expect(await statusOf(id)).toBe(status);
    // A newsletter subscription has no reference.
    expect((await openPage(service, path)).text).not.toContain('<code>');
    for (const other of [{ key }, { key: 'another' }, { key, token: tokens.other }]) {
      const answer = await executeAction(service, preview, { action: 'newsletter', ...other });
      expect([answer.status, answer.body]).toEqual([409, { error: 'confirmation_declined' }]);
    }
    expect((await pressButton(service, path, 'send', { token: 'x' })).status).toBe(303);
    expect((await kept()).some((row) => row.id === id)).toBe(false);
  });

  test('expires after an hour, a newer confirmation or a DELETE, and its key stays used', async () => {
    const timed = await pending(service, {
      action: 'newsletter',
      fields: { email: 'a@b.example' },
    });
    clock.advance(60 * 60_000);
    const replaced = await pending(service);
    const newer = await pending(service);
    const cancelled = await lookAt(service, newer.id, { method: 'DELETE' });
    expect([cancelled.status, cancelled.body.confirmation.status]).toEqual([200, 'expired']);
    for (const [{ id, key, preview, path }, action] of [
      [timed, 'newsletter'],
      [replaced, 'homeowner_quote'],
      [newer, 'homeowner_quote'],
    ] as const) {
      expect(await statusOf(id)).toBe('expired');
      expect((await executeAction(service, preview, { key, action })).status).toBe(400);
      expect((await executeAction(service, preview, { key: 'o', action })).status).toBe(400);
      const fresh = await previewId(service);
      const bound = await executeAction(service, fresh, { key });
      expect([bound.status, bound.body.error]).toEqual([409, 'idempotency_conflict']);
      expect((await pressButton(service, path, 'send', { token: 'x' })).status).toBe(303);
      const { text } = await openPage(service, path);
      expect(text).toContain('This link is no longer valid');
      expect(text).not.toContain('<code>');
      expect((await lookAt(service, id, { method: 'DELETE' })).body.confirmation.status).toBe('expired');
    }
  });

  test('deletes the fields from the confirmation when it ends, and stores them only with the submission', async () => {
    const rows = async () =>
      await service.parts.storage.read((db) => db.selectFrom('confirmations').select(['id', 'fields', 'email']));
    const { id, path } = await pending(service);
    expect((await rows()).find((row) => row.id === id)).toMatchObject({ email: 'ada@example.com' });
    await pressButton(service, path, 'send');
    expect((await rows()).find((row) => row.id === id)).toMatchObject({
      fields: null,
      email: null,
    });
    expect((await rows()).filter(({ fields }) => fields !== null)).toHaveLength(0);
  });
});
