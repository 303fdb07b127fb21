/** Receipts over HTTP on both databases (reference §7.1). Libraries of others verify the signatures. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { API_VERSION } from '../../src/discovery/deployment.ts';
import { call, executeAction, previewId, quote } from '../support/agent.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { execute, getReceipt, keysOf, newKey, publicOf, verifyElsewhere } from '../support/receipts.ts';
import { freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { startUpstream } from '../support/upstream.ts';

const key = newKey();
const UNKNOWN = {
  error: 'There is no such receipt for this client. Use the action_id of an execution of this client that has ended.',
};

describe.each(databases)('GET /api/agent/receipts/:action_id, on %s', (_name, create) => {
  let database: TestDatabase;
  let service: Service;
  const start = (environment: Record<string, string> = {}) =>
    startService({
      environment: { DATABASE_URL: database.url, RECEIPT_SIGNING_KEYS: key, ...environment },
    });
  beforeAll(async () => {
    database = await create();
    service = await start();
  });
  afterAll(async () => {
    await service.close();
    await database.remove();
  });

  test('returns the signed receipt of an execution with its disclosures', async () => {
    const token = await previewId(service);
    const executed = await executeAction(service, token);
    const { receipt } = executed.body;
    expect(executed.headers.get('link')).toBe(`</api/agent/receipts/${receipt.action_id}>; rel="describedby"`);
    const answer = await getReceipt(service, receipt.action_id);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.body).toEqual({
      ok: true,
      receipt,
      confirmed_via: 'agent',
      signed_receipt: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]{86}~$/),
      disclosures: [expect.any(String), expect.any(String), expect.any(String)],
    });

    const keys = await keysOf(service);
    const { header, payload, shown } = await verifyElsewhere(answer.body, keys, service.url);
    expect(header).toEqual({ alg: 'ES256', kid: keys.keys[0]?.kid, typ: 'agent-receipt+sd-jwt' });
    const claims = {
      iss: service.url,
      iat: expect.any(Number),
      jti: receipt.action_id,
      action: 'homeowner_quote',
      status: 'submitted',
      created_at: receipt.created_at,
      consent_recorded_at: receipt.consent_recorded_at,
      confirmation_text: CONFIRMATION_STATEMENT,
      confirmed_via: 'agent',
      client: 'acme',
      destination: 'Vetted Painters',
      preview_digest: createHash('sha256').update(token).digest('base64url'),
      api_version: API_VERSION,
    };
    const sd = { _sd_alg: 'sha-256', _sd: expect.any(Array) };
    expect(payload).toEqual({ ...claims, ...sd });
    expect(payload._sd).toEqual([...(payload._sd as string[])].sort());
    expect(shown).toEqual({ ...claims, ...quote });
    const names = answer.body.disclosures.map(
      (each: string) => JSON.parse(Buffer.from(each, 'base64url').toString())[1],
    );
    expect(names).toEqual(Object.keys(quote));
  });

  test('returns the same bytes each time, also for another credential and after a change of the signing key', async () => {
    const actionId = await execute(service);
    const { text } = await getReceipt(service, actionId);
    expect((await getReceipt(service, actionId, tokens.rotated)).text).toBe(text);
    const other = await start({ RECEIPT_SIGNING_KEYS: newKey() });
    expect((await getReceipt(other, actionId)).text).toBe(text);
    await other.close();
  });

  test('returns the same bytes for simultaneous first requests to two processes', async () => {
    const other = await start();
    for (let times = 0; times < 10; times += 1) {
      const actionId = await execute(service);
      const answers = await Promise.all([service, other, service, other].map((each) => getReceipt(each, actionId)));
      expect(new Set(answers.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
      expect(answers[0]?.body.disclosures).toHaveLength(3);
      const signer = [service, other].map(({ url }) => url);
      await verifyElsewhere(answers[0]?.body, await keysOf(service), signer);
    }
    await other.close();
  });

  test('returns no signature while no private key is set, and signs after one is set', async () => {
    const without = await start({ RECEIPT_SIGNING_KEYS: publicOf(key) });
    const actionId = await execute(without);
    const { status, body } = await getReceipt(without, actionId);
    expect([status, body.signed_receipt, body.disclosures]).toEqual([200, null, []]);
    expect((await keysOf(without)).keys).toEqual((await keysOf(service)).keys);
    await without.close();
    const signed = await getReceipt(service, actionId);
    await verifyElsewhere(signed.body, await keysOf(service), service.url);
    expect(signed.body.receipt).toEqual(body.receipt);
  });

  test('returns a signed receipt for a failed execution', async () => {
    const upstream = await startUpstream();
    upstream.answer = (response) => response.writeHead(503).end();
    const failing = await start({ UPSTREAM_URL: upstream.url });
    const failed = await executeAction(failing, await previewId(failing));
    expect([failed.status, failed.headers.get('link')]).toEqual([
      502,
      `</api/agent/receipts/${failed.body.receipt.action_id}>; rel="describedby"`,
    ]);
    const { body } = await getReceipt(failing, failed.body.receipt.action_id);
    expect(body.receipt).toEqual(failed.body.receipt);
    const { shown } = await verifyElsewhere(body, await keysOf(failing), failing.url);
    expect(shown).toMatchObject({ status: 'failed', ...quote });
    await failing.close();
    await upstream.close();
  });

  test('returns 404 before the execution has ended', async () => {
    const upstream = await startUpstream();
    const waiting = await start({ UPSTREAM_URL: upstream.url });
    const asked = new Promise<string>((resolve) => {
      upstream.answer = async (response, { event }) => {
        const { status, body } = await getReceipt(waiting, String(event.data.id));
        response.writeHead(200).end();
        resolve(`${status} ${body.error}`);
      };
    });
    const executed = await executeAction(waiting, await previewId(waiting));
    expect(await asked).toBe(`404 ${UNKNOWN.error}`);
    expect((await getReceipt(waiting, executed.body.receipt.action_id)).status).toBe(200);
    await waiting.close();
    await upstream.close();
  });

  test('returns 404 to another client, and for an unknown or malformed id', async () => {
    const actionId = await execute(service);
    for (const [id, token] of [
      [actionId, tokens.other],
      [actionId.toUpperCase(), tokens.both],
      ['0191ab6f-2d40-7c11-8f37-2a6a4f1f9c11', tokens.both],
      ['%00', tokens.both],
      ['x'.repeat(5_000), tokens.both],
    ] as const) {
      expect(await getReceipt(service, id, token)).toMatchObject({ status: 404, body: UNKNOWN });
    }
  });

  test('returns 404 if the person declined the preview', async () => {
    const actionId = '0191ab6f-2d40-7c11-8f37-2a6a4f1f9c12';
    await service.parts.executions.decline({
      action_id: actionId,
      action: 'contact',
      client: 'acme',
      idempotency_key: 'declined',
      preview_digest: 'declined',
      confirmation_text: '',
      confirmed_via: 'client_form',
      destination: 'Paint Match',
    });
    expect((await getReceipt(service, actionId)).status).toBe(404);
  });
});

describe('routes of receipts', () => {
  let service: Service;
  beforeAll(async () => {
    service = await startService({ environment: { RECEIPT_SIGNING_KEYS: key } });
  });
  afterAll(() => service.close());

  test('GET of a receipt accepts the scope lead:preview or lead:create', async () => {
    for (const token of [tokens.preview, tokens.create]) {
      const { status, body } = await getReceipt(service, await execute(service), token);
      expect([status, body]).toEqual([404, UNKNOWN]);
    }
    const preview = await previewId(service);
    const { body } = await executeAction(service, preview, { token: tokens.create });
    expect((await getReceipt(service, body.receipt.action_id, tokens.create)).status).toBe(200);
  });

  test('GET of a receipt returns 401 without a valid credential', async () => {
    const actionId = await execute(service);
    for (const token of [null, 'nobody', tokens.expired]) {
      const answer = await getReceipt(service, actionId, token);
      expect(answer.status).toBe(401);
      expect(answer.headers.get('www-authenticate')).toContain('Bearer');
    }
  });

  test('GET of a receipt returns 429 after 60 requests a minute, before it checks the credential', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    const ask = () => call(service, '/api/agent/receipts/x', { method: 'GET', headers });
    for (let times = 0; times < 60; times += 1) expect((await ask()).status).toBe(401);
    const over = await ask();
    expect([over.status, over.headers.get('ratelimit-policy')]).toEqual([429, '"reads";q=60;w=60']);
    expect(Number(over.headers.get('retry-after'))).toBeGreaterThan(0);
  });

  test('/.well-known/jwks.json contains every key once, in order, and the first private key signs', async () => {
    const [first, second, third] = [newKey(), newKey(), newKey()];
    const several = await startService({
      environment: {
        RECEIPT_SIGNING_KEYS: [publicOf(second), first, third, publicOf(first)].join('\n'),
      },
    });
    const answer = await fetch(`${several.url}/.well-known/jwks.json`);
    expect(answer.headers.get('content-type')).toBe('application/jwk-set+json');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('cache-control')).toMatch(/^public/);
    const { keys } = (await answer.json()) as { keys: Record<string, string>[] };
    expect(keys).toHaveLength(3);
    for (const each of keys) {
      expect(Object.keys(each).sort()).toEqual(['alg', 'crv', 'kid', 'kty', 'use', 'x', 'y']);
    }
    const { body } = await getReceipt(several, await execute(several));
    const { header } = await verifyElsewhere(body, await keysOf(several), several.url);
    expect(header.kid).toBe(keys[1]?.kid);
    const etag = answer.headers.get('etag') ?? '';
    const again = await fetch(`${several.url}/.well-known/jwks.json`, {
      headers: { 'if-none-match': etag },
    });
    expect(again.status).toBe(304);
    await several.close();
  });

  test('/.well-known/jwks.json is an empty set without a key', async () => {
    const without = await startService();
    expect(await keysOf(without)).toEqual({ keys: [] });
    await without.close();
  });
});
