/** A host that describes itself by a metadata document, from the page to a refresh (reference §26.5). */
import { readFileSync, writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type TestClock, testClock } from '../support/clock.ts';
import { freshAddress, type Service, tokens } from '../support/service.ts';
import {
  type DocumentServer,
  documentOf,
  lookupHere,
  startDocumentServer,
  trustCertificate,
} from './document-server.ts';
import { openPage, press, queryOf, RETURN, refresh, returned, startWithOauth, statusWith, useCode } from './rig.ts';

let host: DocumentServer;
let service: Service;
let clock: TestClock;
beforeAll(async () => {
  trustCertificate();
  host = await startDocumentServer();
  clock = testClock();
  service = await startWithOauth({
    clock,
    environment: { OAUTH_HOSTS: 'localhost' },
    parts: { publicLookup: lookupHere },
  });
});
afterAll(async () => {
  await service.close();
  host.close();
});

const query = (changes = {}) => queryOf(service, { client_id: host.address, ...changes });
const enter = (token: string, { headers = {}, changes = {} } = {}) =>
  press(service, { do: 'connect', token }, { query: query(changes), headers });
const PUBLIC = () => ({ client_id: host.address, client_secret: undefined });
const connections = () => service.parts.storage.read((db) => db.selectFrom('oauth_connections').selectAll());

describe('page of a metadata client', () => {
  test('shows host, name, return address and a password field, and names no client', async () => {
    const { status, text } = await openPage(service, query());
    expect(status).toBe(200);
    for (const shown of [
      '<bdi>localhost</bdi>',
      '<bdi>Chat Host</bdi>',
      '<bdi>127.0.0.1:9</bdi>',
      'The client of your token',
    ]) {
      expect(text).toContain(shown);
    }
    expect(text).toMatch(
      /<label for="token">The token that the operator gave you<\/label>[\s\S]*<input id="token" name="token" type="password"/,
    );
    expect(text).not.toContain('acme');
  });

  test('shows a name as text', async () => {
    const name = '<b>Claude</b>';
    host.answer = (request, response) => {
      response.end(documentOf(`https://localhost:${host.port}${request.url}`, { client_name: name }));
    };
    const address = `${host.address}?name`;
    const { text } = await openPage(service, query({ client_id: address }));
    expect(text).toContain('<bdi>&lt;b&gt;Claude&lt;/b&gt;</bdi>');
  });

  test.each([
    'http://127.0.0.1/other',
    'https://localhost/other',
    'http://localhost/callback',
    'http://[::1]/callback',
    'https://elsewhere.example/callback',
  ])('is refused with 400 for the return address %s, which the document does not list', async (redirect_uri) => {
    const { status, headers } = await openPage(service, query({ redirect_uri }));
    expect([status, headers.get('location')]).toEqual([400, null]);
  });

  test.each(['http://127.0.0.1/callback', 'http://127.0.0.1:50123/callback', 'https://localhost/callback'])(
    'is shown for the listed return address %s',
    async (redirect_uri) => {
      expect((await openPage(service, query({ redirect_uri }))).status).toBe(200);
    },
  );

  test('reads no document for a return address that no host may have', async () => {
    const before = host.requested.length;
    await openPage(service, query({ client_id: `${host.address}?unread`, redirect_uri: 'https://evil.example/' }));
    expect(host.requested.length).toBe(before);
  });

  test('is refused with 400 if the document can’t be used', async () => {
    host.answer = (_request, response) => void response.writeHead(500).end();
    const { status, headers, text } = await openPage(service, query({ client_id: `${host.address}?broken` }));
    expect([status, headers.get('location')]).toEqual([400, null]);
    expect(text).toContain('We don’t know the program');
  });
});

describe('token on the page', () => {
  test.each([tokens.both, ` ${tokens.both}\n`])(
    '%j connects its client, whose name the host never learns',
    async (token) => {
      const answer = await enter(token);
      const { code = '', iss } = returned(answer);
      expect([answer.status, iss]).toEqual([303, `${service.url}/oauth`]);
      const { body, headers } = await useCode(service, code, PUBLIC());
      expect([body.scope, headers.get('sandbox')]).toEqual(['lead:preview lead:create', null]);
      expect(await statusWith(service, body.access_token)).toBe(200);
      const renewed = (await refresh(service, body.refresh_token, PUBLIC())).body;
      expect(await statusWith(service, renewed.access_token)).toBe(200);
      const [last] = (await connections()).slice(-1);
      expect(last).toMatchObject({ client: 'acme', client_id: host.address, host: 'localhost', redirect_uri: RETURN });
      expect(service.logs.join('')).not.toContain(tokens.both);
    },
  );

  test.each(['a guess', '', tokens.expired])(
    '%j shows the page again with 403 and a sentence, without the token',
    async (token) => {
      const before = (await connections()).length;
      const answer = await enter(token);
      expect([answer.status, answer.headers.get('location')]).toEqual([403, null]);
      expect(answer.text).toContain('This token is wrong or expired.');
      expect(answer.text).toContain('type="password"');
      if (token !== '') expect(answer.text).not.toContain(token);
      expect(answer.headers.get('content-security-policy')).toContain("form-action 'self' http://127.0.0.1:9 ");
      expect((await connections()).length).toBe(before);
    },
  );

  test('grants only scopes that its client has', async () => {
    const { code = '' } = returned(await enter(tokens.preview));
    expect((await useCode(service, code, PUBLIC())).body.scope).toBe('lead:preview');
    expect(returned(await enter(tokens.preview, { changes: { scope: 'lead:create' } })).error).toBe('invalid_scope');
  });

  test('ends the connection if it is no longer valid at a refresh, also if it comes back', async () => {
    const { code = '' } = returned(await enter(tokens.both));
    const { body } = await useCode(service, code, PUBLIC());
    const path = service.settings.credentialsFile ?? '';
    const file = readFileSync(path, 'utf8');
    const rest = JSON.parse(file).clients.filter(({ name }: { name: string }) => name !== 'acme');
    for (const now of [JSON.stringify({ clients: rest }), file]) {
      writeFileSync(path, now);
      await service.parts.credentials.reload();
      expect((await refresh(service, body.refresh_token, PUBLIC())).body.error).toBe('invalid_grant');
    }
  });

  test('is not needed for “Cancel”', async () => {
    expect(returned(await press(service, { do: 'cancel' }, { query: query() })).error).toBe('access_denied');
  });

  test('gets 429 with Retry-After after 10 wrong ones in 15 minutes, right or wrong', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 10; n += 1) expect((await enter('wrong', { headers })).status).toBe(403);
    for (const token of ['wrong', tokens.both]) {
      const answer = await enter(token, { headers });
      expect([answer.status, Number(answer.headers.get('retry-after'))]).toEqual([429, expect.any(Number)]);
      expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(800);
      expect(answer.text).toContain('Too many wrong tokens');
    }
    clock.advance(15 * 60_000);
    expect((await enter(tokens.both, { headers })).status).toBe(303);
  });

  test('is not counted if it is right', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    for (let n = 0; n < 9; n += 1) await enter('wrong', { headers });
    for (let n = 0; n < 15; n += 1) expect((await enter(tokens.both, { headers })).status).toBe(303);
    expect((await enter('wrong', { headers })).status).toBe(403);
    expect((await enter(tokens.both, { headers })).status).toBe(429);
  });

  test('is counted for guesses at the same time', async () => {
    const headers = { 'x-forwarded-for': freshAddress() };
    const guesses = await Promise.all(Array.from({ length: 40 }, (_, n) => enter(`guess ${n}`, { headers })));
    expect(guesses.map(({ status }) => status).sort()).toEqual([...Array(10).fill(403), ...Array(30).fill(429)]);
  });
});

describe('code of a metadata client', () => {
  test('is refused for another metadata client and for a named client', async () => {
    const { code = '' } = returned(await enter(tokens.both));
    const others = [{ client_id: `${host.address}?other`, client_secret: undefined }, {}];
    for (const other of others) expect((await useCode(service, code, other)).body.error).toBe('invalid_grant');
    expect((await useCode(service, code, { ...PUBLIC(), client_secret: tokens.both })).body.error).toBe(
      'invalid_client',
    );
    expect((await useCode(service, code, PUBLIC())).status).toBe(200);
  });
});
