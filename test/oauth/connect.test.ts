import { readFileSync, writeFileSync } from 'node:fs';
import { beforeEach, describe, expect, test } from 'vitest';
import { call, quote } from '../support/agent.ts';
import { callTool, confirmed, send } from '../support/mcp.ts';
import { getReceipt } from '../support/receipts.ts';
import { credentials, freshAddress, tokens } from '../support/service.ts';
import { callConnect, codeFor, connect, oauthService, refresh, statusWith, useCode } from './rig.ts';

const started = oauthService();
type Clients = typeof credentials.clients;

/** Replaces the clients of the credentials file. The service reads the file when it needs to. */
async function setClients(change: (clients: Clients) => Clients): Promise<void> {
  const { settings, parts } = started.service;
  writeFileSync(
    settings.credentialsFile ?? '',
    JSON.stringify({ clients: change(structuredClone(credentials.clients)) }),
  );
  await parts.credentials.reload();
}
beforeEach(() => setClients((clients) => clients));

const tool = (token: string, name: string, input: object) =>
  callTool(started.service, name, input, { path: '/connect', token });

describe('POST /connect (reference §26.2)', () => {
  test.each([null, 'nothing', tokens.both, 'x'.repeat(43)])(
    'returns 401 with the metadata in its challenge for the token %o',
    async (token) => {
      const { url } = started.service;
      const { status, headers, body } = await callConnect(started.service, token);
      expect([status, Object.keys(body)]).toEqual([401, ['error']]);
      expect(headers.get('www-authenticate')).toBe(
        `Bearer resource_metadata="${url}/.well-known/oauth-protected-resource/connect", scope="lead:preview lead:create"`,
      );
    },
  );

  test('refuses a request with two Authorization headers', async () => {
    const { access_token } = await connect(started.service);
    const headers = new Headers({ 'x-forwarded-for': freshAddress() });
    headers.append('authorization', `Bearer ${access_token}, Bearer ${access_token}`);
    expect((await fetch(`${started.service.url}/connect`, { method: 'POST', headers })).status).toBe(401);
  });

  test('has the tools of /mcp', async () => {
    const { access_token } = await connect(started.service);
    const [own, others] = [await callConnect(started.service, access_token), await send(started.service, 'tools/list')];
    expect(own.body.result.tools).toEqual(others.body.result.tools);
  });

  test('sends a preview with the name of the client in the receipt, and /mcp finds the receipt', async () => {
    const { access_token } = await connect(started.service);
    const { structuredContent } = await tool(access_token, 'preview_homeowner_quote', quote);
    const sent = await tool(access_token, 'submit', confirmed(structuredContent.preview_id));
    const { action_id } = sent.structuredContent.receipt;
    const { body } = await getReceipt(started.service, action_id);
    expect(body.receipt).toEqual(sent.structuredContent.receipt);
    const rows = await started.service.parts.storage.read((db) => db.selectFrom('executions').selectAll());
    expect(rows.map(({ client }) => client)).toEqual(['acme']);
  });

  test('refuses a tool whose scope was not granted, although the client has it', async () => {
    const { access_token } = await connect(started.service, { scope: 'lead:preview' });
    const { structuredContent } = await tool(access_token, 'preview_homeowner_quote', quote);
    const refused = await tool(access_token, 'submit', confirmed(structuredContent.preview_id));
    expect([refused.isError, refused.content[0].text]).toEqual([true, expect.stringContaining('lacks the scope')]);
  });

  test.each(['/mcp', '/api/agent/actions/homeowner_quote/preview'])(
    'an access token is refused at %s',
    async (path) => {
      const { access_token } = await connect(started.service);
      const headers = { authorization: `Bearer ${access_token}` };
      expect((await call(started.service, path, { headers, body: '{}' })).status).toBe(401);
    },
  );

  test('answers 120 requests a minute from one address, apart from /mcp, then returns 429', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 120; n += 1) await call(started.service, '/connect', { headers });
    expect((await call(started.service, '/connect', { headers })).status).toBe(429);
    expect((await call(started.service, '/mcp', { headers })).status).toBe(401);
  });

  test('checks the origin before the token, and the token before the body', async () => {
    const origin = { origin: 'https://elsewhere.example' };
    expect((await call(started.service, '/connect', { headers: origin, body: '[' })).status).toBe(403);
    expect((await call(started.service, '/connect', { body: '[' })).status).toBe(401);
    const { access_token } = await connect(started.service);
    const headers = { authorization: `Bearer ${access_token}` };
    expect((await call(started.service, '/connect', { headers, body: '[' })).status).toBe(400);
    expect((await call(started.service, '/connect', { method: 'GET' })).headers.get('allow')).toBe('POST');
  });
});

describe('authority of a connection (reference §26.7)', () => {
  const withoutCredential = (id: string) => (clients: Clients) =>
    clients.map((client) =>
      client.name === 'acme' ? { ...client, credentials: client.credentials.filter((each) => each.id !== id) } : client,
    );

  test.each<[string, (clients: Clients) => Clients]>([
    ['its client is removed', (clients) => clients.filter(({ name }) => name !== 'acme')],
    ['its credential is removed', withoutCredential('c_1')],
    [
      'its credential expires',
      (clients) =>
        clients.map((client) => ({
          ...client,
          credentials: client.credentials.map((each) => ({ ...each, expires_at: '2026-08-31T00:00:00.000Z' })),
        })),
    ],
    [
      'its credential belongs to another client',
      (clients) => clients.map((client) => ({ ...client, name: client.name === 'acme' ? 'beta' : client.name })),
    ],
  ])('ends with the next request if %s, also if the credential comes back', async (_name, change) => {
    const { access_token, refresh_token } = await connect(started.service);
    await setClients(change);
    expect(await statusWith(started.service, access_token)).toBe(401);
    await setClients((clients) => clients);
    expect(await statusWith(started.service, access_token)).toBe(401);
    expect((await refresh(started.service, refresh_token)).body.error).toBe('invalid_grant');
  });

  test('moves to a rotated credential at the next refresh', async () => {
    const { service } = started;
    const first = await connect(service);
    const second = (await refresh(service, first.refresh_token, { client_secret: tokens.rotated })).body;
    await setClients(withoutCredential('c_1'));
    expect(await statusWith(service, second.access_token)).toBe(200);
    expect(await statusWith(service, first.access_token)).toBe(200);
    await setClients(withoutCredential('c_2'));
    expect(await statusWith(service, second.access_token)).toBe(401);
  });

  test('has only the scopes that the client still has', async () => {
    const { access_token, refresh_token } = await connect(started.service);
    await setClients((clients) => clients.map((client) => ({ ...client, scopes: ['lead:preview'] })));
    const { structuredContent } = await tool(access_token, 'preview_homeowner_quote', quote);
    const refused = await tool(access_token, 'submit', confirmed(structuredContent.preview_id));
    expect(refused.content[0].text).toContain('lacks the scope');
    expect((await refresh(started.service, refresh_token)).body.scope).toBe('lead:preview');
  });

  test('lasts while the client has no granted scope, but its refresh returns invalid_scope', async () => {
    const { refresh_token } = await connect(started.service, { scope: 'lead:preview' });
    await setClients((clients) => clients.map((client) => ({ ...client, scopes: ['lead:create'] })));
    const { status, body } = await refresh(started.service, refresh_token);
    expect([status, body.error]).toEqual([400, 'invalid_scope']);
    await setClients((clients) => clients);
    expect((await refresh(started.service, refresh_token)).body.scope).toBe('lead:preview');
  });

  test('is refused at the exchange of a code whose client was removed', async () => {
    const code = await codeFor(started.service);
    await setClients((clients) => clients.filter(({ name }) => name !== 'acme'));
    expect((await useCode(started.service, code)).status).toBe(401);
  });

  test('is not ended because another process wrote a newer credentials file', async () => {
    const { service } = started;
    const { access_token } = await connect(service);
    const path = service.settings.credentialsFile ?? '';
    const newest = readFileSync(path, 'utf8');
    // This process still has an older file, in which the credential is missing.
    await setClients(withoutCredential('c_1'));
    writeFileSync(path, newest);
    expect(await statusWith(service, access_token)).toBe(200);
  });

  test('records the last use at most once a minute', async () => {
    const { service, clock } = started;
    clock.advance(1);
    const { access_token } = await connect(service);
    const last = async () =>
      (
        await service.parts.storage.read((db) =>
          db.selectFrom('oauth_connections').select('last_used_at').orderBy('connected_at', 'desc'),
        )
      )[0]?.last_used_at;
    const first = await last();
    clock.advance(59_000);
    await statusWith(service, access_token);
    expect(await last()).toBe(first);
    clock.advance(1_000);
    await statusWith(service, access_token);
    expect(await last()).toBe(clock.now().toISOString());
  });
});
