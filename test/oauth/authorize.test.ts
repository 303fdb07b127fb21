import { describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { freshAddress, tokens } from '../support/service.ts';
import { connect, oauthService, openPage, press, queryOf, RETURN, returned, useCode } from './rig.ts';

const started = oauthService();
const rows = () => started.service.parts.storage.read((db) => db.selectFrom('oauth_connections').selectAll());
const query = (changes: Record<string, string | undefined>) => queryOf(started.service, changes);

describe('/oauth/authorize, page (reference §26.4)', () => {
  test('shows the host, the client, the scopes, and that each sending is confirmed', async () => {
    const { service } = started;
    const { status, text, headers } = await openPage(service, query({ redirect_uri: 'https://claude.ai/callback' }));
    expect(status).toBe(200);
    for (const shown of [
      '<bdi>claude.ai</bdi>',
      '<bdi>acme</bdi>',
      'lead:preview',
      'lead:create',
      'Each sending is confirmed separately.',
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).not.toContain('type="password"');
    expect([...text.matchAll(/<button[^>]*name="do" value="(\w+)"/g)].map(([, value]) => value)).toEqual([
      'connect',
      'cancel',
    ]);
    expect(headers.get('cache-control')).toBe('no-store');
  });

  test('is never framed, needs no script, sets no cookie and is not indexed', async () => {
    const { text, headers } = await openPage(started.service);
    expect(headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
    expect(headers.get('x-frame-options')).toBe('SAMEORIGIN');
    expect([headers.get('x-robots-tag'), headers.has('set-cookie')]).toEqual(['noindex', false]);
    // A host may have opened the page in a window of its own.
    expect(headers.get('cross-origin-opener-policy')).toBe('unsafe-none');
    expect(text).not.toMatch(/<script(?![^>]*application)/);
  });

  test.each([
    ['https://claude.ai/callback', 'https://claude.ai'],
    ['http://127.0.0.1:4711/callback', 'http://127.0.0.1:4711'],
    ['http://localhost/callback', 'http://localhost'],
    ['http://[::1]:4711/callback', 'http:'],
  ])('allows its form to lead to %s', async (redirect_uri, source) => {
    const { headers } = await openPage(started.service, query({ redirect_uri }));
    const [, sources = ''] = /form-action ([^;]*);/.exec(headers.get('content-security-policy') ?? '') ?? [];
    expect(sources.split(' ')).toEqual([
      ...new Set(["'self'", source, 'https://claude.ai', 'https://claude.com', 'https://chatgpt.com']),
    ]);
  });

  test('changes nothing for GET and HEAD', async () => {
    const { service } = started;
    await fetch(`${service.url}/oauth/authorize${queryOf(service)}`, { method: 'HEAD' });
    await openPage(service);
    expect(await rows()).toEqual([]);
  });
});

describe('/oauth/authorize, addresses (reference §26.5)', () => {
  test.each([
    'https://claude.ai/api/callback?x=1',
    'https://claude.com',
    "https://chatgpt.com/connector/oauth/abc_-~!$&'()*+,;=:@%20",
    'http://127.0.0.1:1/x',
    'http://localhost',
    'http://[::1]/x?y=z',
  ])('shows the page for the return address %s', async (redirect_uri) => {
    expect((await openPage(started.service, query({ redirect_uri }))).status).toBe(200);
  });

  test.each([
    '',
    'https://evil.example/callback',
    'http://claude.ai/callback',
    'https://claude.ai.evil.example/callback',
    'https://evil.claude.ai/callback',
    'https://claude.ai:443/callback',
    'https://claude.ai:8443/callback',
    'https://claude.ai./callback',
    'https://Claude.ai/callback',
    'HTTPS://claude.ai/callback',
    'https://user@claude.ai/callback',
    'https://claude.ai@evil.example/callback',
    'https://claude.ai\\@evil.example/callback',
    'https://evil.example\\.claude.ai/',
    'https:\\\\claude.ai/callback',
    'https:claude.ai/callback',
    'https:///claude.ai/callback',
    'https://claude.ai/callback#fragment',
    'https://claude.ai%2eevil.example/callback',
    'https://claude.ai\t.evil.example/callback',
    ' https://claude.ai/callback',
    'https://claude.ai/call back',
    'https://сlaude.ai/callback',
    'http://127.0.0.1:1/x#y',
    'http://user@127.0.0.1/x',
    'http://127.0.0.1:99999/x',
    'http://127.0.0.1.evil.example/x',
    'http://127.0.0.2/x',
    'http://2130706433/x',
    'http://localhost.evil.example/x',
    'http://[::1].evil.example/x',
    'javascript:alert(1)',
    'data:text/html,x',
    'cursor://anysphere.cursor/callback',
    '/callback',
    '//claude.ai/callback',
  ])('answers 400 with a page and no redirect for the return address %o', async (redirect_uri) => {
    for (const answer of [
      await openPage(started.service, query({ redirect_uri })),
      await press(started.service, { do: 'connect' }, { query: query({ redirect_uri }) }),
    ]) {
      expect([answer.status, answer.headers.get('location')]).toEqual([400, null]);
      expect(answer.text).toContain('may not get an answer at its address');
      if (redirect_uri !== '') expect(answer.text).not.toContain(redirect_uri.slice(0, 20));
    }
    expect(await rows()).toEqual([]);
  });

  test.each([
    undefined,
    '',
    'nobody',
    'Acme',
    'https://evil.example/client.json',
    'http://claude.ai/client.json',
    'https://claude.ai',
  ])('answers 400 with a page and no redirect for the client_id %o', async (client_id) => {
    const { status, headers, text } = await openPage(started.service, query({ client_id }));
    expect([status, headers.get('location')]).toEqual([400, null]);
    expect(text).toContain('We don’t know the program');
  });

  test('names the absent client_id if the redirect_uri is absent too', async () => {
    const { status, text } = await openPage(started.service, query({ client_id: undefined, redirect_uri: undefined }));
    expect(status).toBe(400);
    expect(text).toContain('We don’t know the program');
  });

  test.each(['client_id', 'redirect_uri'])('answers 400 with a page for a repeated %s', async (name) => {
    const { status, headers } = await openPage(started.service, `${query({})}&${name}=acme`);
    expect([status, headers.get('location')]).toEqual([400, null]);
  });
});

describe('/oauth/authorize, errors that return to the host', () => {
  test.each<[string, Record<string, string | undefined>, string]>([
    ['no response_type', { response_type: undefined }, 'invalid_request'],
    ['response_type=token', { response_type: 'token' }, 'unsupported_response_type'],
    ['response_mode=fragment', { response_mode: 'fragment' }, 'invalid_request'],
    ['no code_challenge', { code_challenge: undefined }, 'invalid_request'],
    ['an empty code_challenge', { code_challenge: '' }, 'invalid_request'],
    ['a short code_challenge', { code_challenge: 'x'.repeat(42) }, 'invalid_request'],
    ['no code_challenge_method', { code_challenge_method: undefined }, 'invalid_request'],
    ['code_challenge_method=plain', { code_challenge_method: 'plain' }, 'invalid_request'],
    ['no resource', { resource: undefined }, 'invalid_target'],
    ['an empty resource', { resource: '' }, 'invalid_target'],
    ['the resource of another site', { resource: 'https://elsewhere.example/connect' }, 'invalid_target'],
    ['scopes that the client does not have', { scope: 'admin openid' }, 'invalid_scope'],
  ])('%s is answered with an error, for GET and POST', async (_name, changes, error) => {
    const wanted = {
      error,
      error_description: expect.any(String),
      state: 'any state',
      iss: `${started.service.url}/oauth`,
    };
    const opened = await openPage(started.service, query(changes));
    expect([opened.status, returned(opened)]).toEqual([303, wanted]);
    expect(opened.headers.get('location')).toMatch(`${RETURN}?`);
    const pressed = await press(started.service, { do: 'connect' }, { query: query(changes) });
    expect([pressed.status, returned(pressed)]).toEqual([303, wanted]);
    expect(await rows()).toEqual([]);
  });

  test.each(['/mcp', '/connect/', '/connect?x', '/connect#x', ''])(
    'the resource BASE_URL%s is refused',
    async (path) => {
      const resource = started.service.url + path;
      expect(returned(await openPage(started.service, query({ resource }))).error).toBe('invalid_target');
    },
  );

  test.each(['scope', 'resource', 'code_challenge', 'anything'])('a repeated %s is invalid_request', async (name) => {
    const answer = await openPage(started.service, `${query({ anything: 'x', scope: 'lead:create' })}&${name}=again`);
    expect(returned(answer)).toMatchObject({ error: 'invalid_request', state: 'any state' });
  });

  test('a repeated state is invalid_request, and no state is returned', async () => {
    const answer = returned(await openPage(started.service, `${query({})}&state=again`));
    expect([answer.error, answer.state]).toEqual(['invalid_request', undefined]);
  });

  test('an empty parameter counts as absent, also beside a value', async () => {
    expect((await openPage(started.service, `${query({ response_mode: '' })}&scope=&state=&resource=`)).status).toBe(
      200,
    );
  });

  test('keep a query that the return address has', async () => {
    const redirect_uri = `${RETURN}?a=1&b=%20`;
    const answer = await openPage(started.service, query({ redirect_uri, scope: 'none' }));
    expect(answer.headers.get('location')).toMatch(`${redirect_uri}&error=invalid_scope&`);
  });
});

describe('/oauth/authorize, buttons', () => {
  test('“Connect” returns with code, state and iss, and stores only digests', async () => {
    const { service } = started;
    const answer = await press(service);
    const { code = '', ...others } = returned(answer);
    expect(answer.status).toBe(303);
    expect(others).toEqual({ state: 'any state', iss: `${service.url}/oauth` });
    expect(service.logs.map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({ client: 'acme', msg: 'host allowed to connect' }),
    );
    const { body } = await useCode(service, code);
    const stored = JSON.stringify([
      await rows(),
      await service.parts.storage.read((db) => db.selectFrom('oauth_access_tokens').selectAll()),
    ]);
    for (const secret of [
      code,
      body.access_token,
      body.refresh_token,
      body.refresh_token.slice(0, 22),
      body.refresh_token.slice(22),
      tokens.both,
    ]) {
      expect(stored).not.toContain(secret);
      expect(service.logs.join('')).not.toContain(secret);
    }
  });

  test('“Cancel” returns with access_denied, also without a token', async () => {
    const before = (await rows()).length;
    const answer = await press(started.service, { do: 'cancel' });
    expect([answer.status, returned(answer)]).toEqual([
      303,
      {
        error: 'access_denied',
        error_description: expect.any(String),
        state: 'any state',
        iss: `${started.service.url}/oauth`,
      },
    ]);
    expect((await rows()).length).toBe(before);
  });

  test.each<[string, Record<string, string>]>([
    ['another site', { 'sec-fetch-site': 'cross-site' }],
    ['another page of the same site', { 'sec-fetch-site': 'same-site' }],
    ['a foreign Origin', { 'sec-fetch-site': '', origin: 'https://evil.example' }],
    ['a program that declares itself', { 'signature-agent': '"https://agent.example"' }],
  ])('return 403 and connect nothing for a click from %s', async (_name, headers) => {
    const before = (await rows()).length;
    const answer = await press(started.service, { do: 'connect' }, { headers });
    expect([answer.status, answer.headers.get('location')]).toEqual([403, null]);
    expect((await rows()).length).toBe(before);
  });

  test.each<Record<string, string>>([{}, { do: 'allow' }, { token: 'x' }])(
    'return 400 for the body %j',
    async (form) => {
      expect((await press(started.service, form)).status).toBe(400);
    },
  );

  test.each([
    ['lead:preview', 'lead:preview'],
    ['lead:create openid offline_access', 'lead:create'],
    ['lead:create lead:preview', 'lead:preview lead:create'],
  ])('grant, of the requested scopes %o, those that the client has', async (scope, granted) => {
    expect((await connect(started.service, { scope })).scope).toBe(granted);
  });

  test('grant a client with one scope no other scope', async () => {
    const looker = query({ client_id: 'looker' });
    const { code = '' } = returned(await press(started.service, { do: 'connect' }, { query: looker }));
    const secret = { client_id: 'looker', client_secret: tokens.preview };
    expect((await useCode(started.service, code, secret)).body.scope).toBe('lead:preview');
    const answer = await openPage(started.service, query({ client_id: 'looker', scope: 'lead:create' }));
    expect(returned(answer).error).toBe('invalid_scope');
  });

  test('return a page with 503 and connect nothing if the store is unavailable', async () => {
    const { storage } = started.service.parts;
    const { write } = storage;
    storage.write = () => Promise.reject(new StorageUnavailable('away'));
    const answer = await press(started.service);
    storage.write = write;
    expect([answer.status, answer.headers.get('location')]).toEqual([503, null]);
    expect(answer.text).toContain('We can’t connect an assistant right now.');
  });

  test('return 429 with Retry-After after 120 requests of one address in a minute', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 120; n += 1) await openPage(started.service, '', headers);
    const answer = await openPage(started.service, queryOf(started.service), headers);
    expect([answer.status, Number(answer.headers.get('retry-after')) > 0]).toEqual([429, true]);
    expect(answer.text).toContain('You tried too often.');
  });
});
