import { describe, expect, test } from 'vitest';
import { freshAddress, tokens } from '../support/service.ts';
import { ACME, codeFor, connect, oauthService, post, RETURN, refresh, statusWith, useCode, VERIFIER } from './rig.ts';

const started = oauthService();
const basic = (id: string, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${encodeURIComponent(id)}:${encodeURIComponent(secret)}`).toString('base64')}`,
});
const errorOf = ({ status, body }: { status: number; body: { error: string } }) => [status, body.error];

describe('/oauth/token, client authentication (reference §26.6)', () => {
  test.each([
    ['client_secret_post', {}, {}],
    ['client_secret_basic', { client_id: undefined, client_secret: undefined }, basic('acme', tokens.both)],
    [
      'client_secret_basic with the client_id in the body too',
      { client_secret: undefined },
      basic('acme', tokens.both),
    ],
    ['another valid token of the client', { client_secret: tokens.rotated }, {}],
  ])('accepts %s', async (_name, changes, headers) => {
    const { service } = started;
    const code = await codeFor(service);
    const grant = { grant_type: 'authorization_code', code, redirect_uri: RETURN, code_verifier: VERIFIER };
    const { status, headers: sent, body } = await post(service, { ...grant, ...ACME, ...changes }, { headers });
    expect([status, sent.get('cache-control'), sent.get('sandbox')]).toEqual([200, 'no-store', null]);
    expect(body).toEqual({
      access_token: expect.stringMatching(/^[\w-]{43}$/),
      token_type: 'Bearer',
      expires_in: 3600,
      refresh_token: expect.stringMatching(/^[\w-]{65}$/),
      scope: 'lead:preview lead:create',
    });
  });

  test.each<[string, object, Record<string, string>, number, string, boolean]>([
    ['an unknown client', { client_id: 'nobody' }, {}, 401, 'invalid_client', false],
    ['no client', { client_id: undefined, client_secret: undefined }, {}, 401, 'invalid_client', false],
    ['no secret', { client_secret: undefined }, {}, 401, 'invalid_client', false],
    ['a wrong secret', { client_secret: 'wrong' }, {}, 401, 'invalid_client', false],
    ['an expired secret', { client_secret: tokens.expired }, {}, 401, 'invalid_client', false],
    ['the secret of another client', { client_secret: tokens.other }, {}, 401, 'invalid_client', false],
    [
      'a metadata client of a host that is not listed',
      { client_id: 'https://evil.example/c', client_secret: undefined },
      {},
      401,
      'invalid_client',
      false,
    ],
    ['a metadata client with a secret', { client_id: 'https://claude.ai/c' }, {}, 401, 'invalid_client', false],
    [
      'a wrong secret by Basic',
      { client_id: undefined, client_secret: undefined },
      basic('acme', 'wrong'),
      401,
      'invalid_client',
      true,
    ],
    [
      'broken Basic',
      { client_id: undefined, client_secret: undefined },
      { authorization: 'Basic %%' },
      401,
      'invalid_client',
      true,
    ],
    [
      'another client in the body than by Basic',
      { client_id: 'other', client_secret: undefined },
      basic('acme', tokens.both),
      401,
      'invalid_client',
      true,
    ],
    ['both methods', {}, basic('acme', tokens.both), 400, 'invalid_request', false],
    [
      'a wrong secret before another resource',
      { client_secret: 'wrong', resource: 'https://elsewhere.example/connect' },
      {},
      401,
      'invalid_client',
      false,
    ],
  ])(
    'refuses %s, with a Basic challenge only after Basic',
    async (_name, changes, headers, status, error, challenged) => {
      const { service } = started;
      const code = await codeFor(service);
      const grant = { grant_type: 'authorization_code', code, redirect_uri: RETURN, code_verifier: VERIFIER };
      const answer = await post(service, { ...grant, ...ACME, ...changes }, { headers });
      expect(errorOf(answer)).toEqual([status, error]);
      expect(answer.headers.get('www-authenticate')?.startsWith('Basic ') ?? false).toBe(challenged);
      expect((await useCode(service, code)).status).toBe(200);
    },
  );
});

describe('/oauth/token, requests', () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    ['no grant_type', { grant_type: undefined }, 'invalid_request'],
    ['another grant_type', { grant_type: 'client_credentials' }, 'unsupported_grant_type'],
    ['no code', { code: undefined }, 'invalid_request'],
    ['an empty code', { code: '' }, 'invalid_request'],
    ['an unknown code', { code: 'x'.repeat(43) }, 'invalid_grant'],
    ['no redirect_uri', { redirect_uri: undefined }, 'invalid_request'],
    ['another redirect_uri', { redirect_uri: 'http://127.0.0.1:8/callback' }, 'invalid_grant'],
    ['no code_verifier', { code_verifier: undefined }, 'invalid_request'],
    ['a wrong code_verifier', { code_verifier: 'w'.repeat(43) }, 'invalid_grant'],
    ['a short code_verifier', { code_verifier: 'v'.repeat(42) }, 'invalid_grant'],
    ['another resource', { resource: 'https://elsewhere.example/connect' }, 'invalid_target'],
    ['the resource /mcp', { resource: 'MCP' }, 'invalid_target'],
    ['the code of another client', { client_id: 'other', client_secret: tokens.other }, 'invalid_grant'],
  ])('refuse %s, and the code stays usable', async (_name, changes, error) => {
    const { service } = started;
    const code = await codeFor(service);
    const resource = changes.resource === 'MCP' ? { resource: `${service.url}/mcp` } : {};
    expect(errorOf(await useCode(service, code, { ...changes, ...resource }))).toEqual([400, error]);
    expect((await useCode(service, code, { resource: `${service.url}/connect` })).status).toBe(200);
  });

  test.each(['code', 'client_id', 'resource', 'grant_type'])('refuse a repeated %s', async (name) => {
    const { service } = started;
    const code = await codeFor(service);
    const grant = { grant_type: 'authorization_code', code, redirect_uri: RETURN, code_verifier: VERIFIER };
    const body = new URLSearchParams({ ...grant, ...ACME, resource: `${service.url}/connect` });
    body.append(name, 'again');
    expect(errorOf(await post(service, body))).toEqual([400, 'invalid_request']);
    expect((await useCode(service, code)).status).toBe(200);
  });

  test('treat an empty parameter as absent, also if it comes beside a value', async () => {
    const { service } = started;
    const body = new URLSearchParams({ ...ACME, grant_type: 'authorization_code', redirect_uri: RETURN });
    for (const [name, value] of [
      ['code', await codeFor(service)],
      ['code', ''],
      ['code_verifier', VERIFIER],
      ['resource', ''],
    ] as const) {
      body.append(name, value);
    }
    expect((await post(service, body)).status).toBe(200);
  });

  test.each([
    ['JSON', 'application/json', '{"grant_type":"refresh_token"}'],
    ['invalid UTF-8', 'application/x-www-form-urlencoded', Buffer.from([0xff])],
    ['over 8,000 bytes', 'application/x-www-form-urlencoded', `a=${'x'.repeat(8_000)}`],
  ])('refuse a body that is %s', async (_name, type, body) => {
    const headers = { 'content-type': type, 'x-forwarded-for': freshAddress() };
    const response = await fetch(`${started.service.url}/oauth/token`, { method: 'POST', headers, body });
    expect([response.status, ((await response.json()) as { error: string }).error]).toEqual([400, 'invalid_request']);
  });

  test('get 429 after 60 in a minute from one address, at both addresses together', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    const paths = ['/oauth/token', '/oauth/revoke'];
    for (let n = 0; n < 60; n += 1) await post(started.service, {}, { path: paths[n % 2] ?? '', headers });
    for (const path of paths) {
      const answer = await post(started.service, {}, { path, headers });
      expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([429, true]);
    }
  });
});

describe('a code', () => {
  test('is valid for 60 s', async () => {
    const { service, clock } = started;
    const [one, other] = [await codeFor(service), await codeFor(service)];
    clock.advance(59_999);
    expect((await useCode(service, one)).status).toBe(200);
    clock.advance(1);
    expect(errorOf(await useCode(service, other))).toEqual([400, 'invalid_grant']);
  });

  test('ends its tokens at its second use, also later and with a wrong verifier', async () => {
    const { service, clock } = started;
    for (const changes of [{}, { code_verifier: 'w'.repeat(43) }]) {
      const code = await codeFor(service);
      const { body } = await useCode(service, code);
      const renewed = (await refresh(service, body.refresh_token)).body;
      clock.advance(120_000);
      expect(errorOf(await useCode(service, code, changes))).toEqual([400, 'invalid_grant']);
      expect(await statusWith(service, body.access_token)).toBe(401);
      expect(await statusWith(service, renewed.access_token)).toBe(401);
      expect(errorOf(await refresh(service, renewed.refresh_token))).toEqual([400, 'invalid_grant']);
    }
  });

  test('does not end the tokens if another client presents it', async () => {
    const { service } = started;
    const code = await codeFor(service);
    const { body } = await useCode(service, code);
    const other = { client_id: 'other', client_secret: tokens.other };
    expect(errorOf(await useCode(service, code, other))).toEqual([400, 'invalid_grant']);
    expect(await statusWith(service, body.access_token)).toBe(200);
  });
});

describe('an access token', () => {
  test('is valid for one hour, also after a refresh', async () => {
    const { service, clock } = started;
    const first = await connect(service);
    clock.advance(3_599_999);
    const second = (await refresh(service, first.refresh_token)).body;
    expect(await statusWith(service, first.access_token)).toBe(200);
    clock.advance(1);
    expect(await statusWith(service, first.access_token)).toBe(401);
    expect(await statusWith(service, second.access_token)).toBe(200);
  });
});

describe('a refresh token', () => {
  test('is replaced at each use, and its second use ends the whole family', async () => {
    const { service } = started;
    const first = await connect(service);
    const second = (await refresh(service, first.refresh_token)).body;
    const third = (await refresh(service, second.refresh_token)).body;
    expect(new Set([first, second, third].map((each) => each.refresh_token)).size).toBe(3);
    expect(errorOf(await refresh(service, first.refresh_token))).toEqual([400, 'invalid_grant']);
    for (const { access_token } of [first, second, third]) expect(await statusWith(service, access_token)).toBe(401);
    expect(errorOf(await refresh(service, third.refresh_token))).toEqual([400, 'invalid_grant']);
    expect(service.logs.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ client: 'acme', msg: expect.stringContaining('used twice or too late') }),
    );
  });

  test('ends the family at its second use, also with a scope that was not granted', async () => {
    const { service } = started;
    const first = await connect(service);
    const second = (await refresh(service, first.refresh_token)).body;
    const again = await refresh(service, first.refresh_token, { scope: 'admin' });
    expect(errorOf(again)).toEqual([400, 'invalid_grant']);
    expect(errorOf(await refresh(service, second.refresh_token))).toEqual([400, 'invalid_grant']);
  });

  test('ends after 90 days without use', async () => {
    const { service, clock } = started;
    const first = await connect(service);
    const days = (n: number) => clock.advance(n * 86_400_000);
    days(89);
    const second = (await refresh(service, first.refresh_token)).body;
    days(90);
    expect(errorOf(await refresh(service, second.refresh_token))).toEqual([400, 'invalid_grant']);
  });

  test('is refused for another client, and stays usable', async () => {
    const { service } = started;
    const { refresh_token } = await connect(service);
    const other = { client_id: 'other', client_secret: tokens.other };
    expect(errorOf(await refresh(service, refresh_token, other))).toEqual([400, 'invalid_grant']);
    expect((await refresh(service, refresh_token)).status).toBe(200);
  });

  test.each(['', 'nothing', 'x'.repeat(65)])('that is %o is refused', async (token) => {
    const error = token === '' ? 'invalid_request' : 'invalid_grant';
    expect(errorOf(await refresh(started.service, token))).toEqual([400, error]);
  });

  test('gives an access token with a part of the granted scopes, and no further scope', async () => {
    const { service } = started;
    const first = await connect(service);
    const narrow = (await refresh(service, first.refresh_token, { scope: 'lead:preview' })).body;
    expect(narrow.scope).toBe('lead:preview');
    expect(errorOf(await refresh(service, narrow.refresh_token, { scope: 'lead:preview admin' }))).toEqual([
      400,
      'invalid_scope',
    ]);
    expect((await refresh(service, narrow.refresh_token)).body.scope).toBe('lead:preview lead:create');
  });
});

describe('/oauth/revoke (reference §26.8)', () => {
  const revoke = (token: string, changes = {}) =>
    post(started.service, { token, ...ACME, ...changes }, { path: '/oauth/revoke' });

  test('ends the connection of a refresh token, also of an old one', async () => {
    const { service } = started;
    for (const isOld of [false, true]) {
      const first = await connect(service);
      const second = (await refresh(service, first.refresh_token)).body;
      const { status, body } = await revoke(isOld ? first.refresh_token : second.refresh_token);
      expect([status, body]).toEqual([200, {}]);
      expect(await statusWith(service, second.access_token)).toBe(401);
    }
  });

  test('ends only an access token', async () => {
    const { service } = started;
    const { access_token, refresh_token } = await connect(service);
    expect((await revoke(access_token, { token_type_hint: 'refresh_token' })).status).toBe(200);
    expect(await statusWith(service, access_token)).toBe(401);
    expect((await refresh(service, refresh_token)).status).toBe(200);
  });

  test('answers 200 for an unknown token and one of another client, and changes nothing', async () => {
    const { service } = started;
    const { access_token, refresh_token } = await connect(service);
    const other = { client_id: 'other', client_secret: tokens.other };
    for (const token of ['nothing', 'x'.repeat(43), 'x'.repeat(65), access_token, refresh_token]) {
      expect((await revoke(token, other)).status).toBe(200);
    }
    expect(await statusWith(service, access_token)).toBe(200);
  });

  test.each<[object, number, string]>([
    [{ token: undefined }, 400, 'invalid_request'],
    [{ client_secret: 'wrong' }, 401, 'invalid_client'],
    [{ resource: 'https://elsewhere.example/connect' }, 400, 'invalid_target'],
  ])('refuses %j', async (changes, status, error) => {
    expect(errorOf(await revoke('x'.repeat(43), changes))).toEqual([status, error]);
  });
});
