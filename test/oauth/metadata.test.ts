import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/settings/settings.ts';
import { call } from '../support/agent.ts';
import { startService } from '../support/service.ts';
import { oauthService } from './rig.ts';

const started = oauthService();
const RESOURCE = '/.well-known/oauth-protected-resource/connect';
const ISSUER = '/.well-known/oauth-authorization-server/oauth';
const get = (path: string, headers = {}) => call(started.service, path, { method: 'GET', headers });

describe('metadata of OAuth (reference §26.3)', () => {
  test('describes the tools as a protected resource', async () => {
    const { url } = started.service;
    expect((await get(RESOURCE)).body).toEqual({
      resource: `${url}/connect`,
      authorization_servers: [`${url}/oauth`],
      scopes_supported: ['lead:preview', 'lead:create'],
      bearer_methods_supported: ['header'],
      resource_name: 'Paint Match',
      resource_documentation: `${url}/agents`,
    });
  });

  test('describes the issuer, without a registration endpoint', async () => {
    const { url } = started.service;
    const methods = ['client_secret_basic', 'client_secret_post', 'none'];
    expect((await get(ISSUER)).body).toEqual({
      issuer: `${url}/oauth`,
      authorization_endpoint: `${url}/oauth/authorize`,
      token_endpoint: `${url}/oauth/token`,
      revocation_endpoint: `${url}/oauth/revoke`,
      scopes_supported: ['lead:preview', 'lead:create'],
      response_types_supported: ['code'],
      response_modes_supported: ['query'],
      grant_types_supported: ['authorization_code', 'refresh_token'],
      token_endpoint_auth_methods_supported: methods,
      revocation_endpoint_auth_methods_supported: methods,
      code_challenge_methods_supported: ['S256'],
      authorization_response_iss_parameter_supported: true,
      client_id_metadata_document_supported: true,
      service_documentation: `${url}/agents`,
    });
  });

  test.each([RESOURCE, ISSUER])('%s has an ETag, CORS for every origin, HEAD and 304', async (path) => {
    const { status, headers } = await get(path, { origin: 'https://elsewhere.example' });
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, '*']);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(headers.get('cache-control')).toContain('public');
    const etag = headers.get('etag') ?? '';
    expect((await get(path, { 'if-none-match': etag })).status).toBe(304);
    const head = await call(started.service, path, { method: 'HEAD' });
    expect([head.status, head.text, head.headers.get('etag')]).toEqual([200, '', etag]);
    expect((await call(started.service, path)).headers.get('allow')).toBe('GET, HEAD');
  });

  test.each([
    '/.well-known/oauth-protected-resource',
    '/.well-known/oauth-protected-resource/mcp',
    '/.well-known/oauth-protected-resource/mcp/open',
    '/.well-known/oauth-authorization-server',
    '/.well-known/oauth-authorization-server/connect',
    '/.well-known/openid-configuration',
    '/.well-known/openid-configuration/oauth',
    '/oauth/.well-known/openid-configuration',
    '/oauth/.well-known/oauth-authorization-server',
    '/connect/.well-known/oauth-protected-resource',
    '/oauth',
    '/oauth/register',
    '/register',
    '/authorize',
    '/token',
  ])('%s answers a JSON 404', async (path) => {
    for (const method of ['GET', 'POST']) {
      const { status, body } = await call(started.service, path, { method });
      expect([status, Object.keys(body)]).toEqual([404, ['error']]);
    }
  });

  test.each([RESOURCE, '/connect', '/oauth/authorize', '/oauth/token'])(
    '%s/ leads to the address without a slash',
    async (path) => {
      const { status, headers } = await get(`${path}/`);
      expect([status, headers.get('location')]).toEqual([308, path]);
    },
  );

  test.each(['/connect', '/oauth/token', '/oauth/revoke'])(
    '%s has CORS for the origins that may call the tools, and no other',
    async (path) => {
      for (const [origin, allowed] of [
        ['http://localhost:6274', 'http://localhost:6274'],
        ['https://elsewhere.example', null],
      ] as const) {
        const { headers } = await call(started.service, path, { headers: { origin } });
        expect(headers.get('access-control-allow-origin')).toBe(allowed);
      }
    },
  );

  test('the 401 of /mcp has no metadata', async () => {
    const { headers } = await call(started.service, '/mcp');
    expect(headers.get('www-authenticate')).toBe('Bearer realm="agent actions"');
  });
});

describe('availability of OAuth (reference §26.1)', () => {
  const paths = [RESOURCE, ISSUER, '/oauth/authorize', '/oauth/token', '/oauth/revoke', '/connect'];

  test.each<[string, Record<string, string>]>([
    ['with OAUTH=off', { NODE_ENV: 'test', OAUTH: 'off' }],
    ['with MCP=off', { NODE_ENV: 'test', MCP: 'off', OAUTH: 'on' }],
    ['in production without https', { OAUTH: 'on' }],
  ])('%s, every address answers 404', async (_name, environment) => {
    const service = await startService({ environment });
    for (const path of paths) {
      for (const method of ['GET', 'POST']) {
        expect([path, (await call(service, path, { method })).status]).toEqual([path, 404]);
      }
    }
    expect((await call(service, '/mcp')).status).toBe(environment.MCP === 'off' ? 404 : 401);
    await service.close();
  });

  test.each(['claude.ai', 'xn--bcher-kva.example', 'a-b.c1.example', 'localhost', 'a.example, b.example'])(
    'OAUTH_HOSTS can be %s',
    (hosts) => {
      expect(readSettings({ OAUTH_HOSTS: hosts })).toMatchObject({ settings: { oauthHosts: hosts.split(', ') } });
    },
  );

  test.each([
    'Claude.ai',
    'claude.ai/x',
    '*.claude.ai',
    'claude.ai.',
    '192.0.2.7',
    '0x7f.1',
    '[::1]',
    '-a.example',
    'bücher.example',
    ',',
  ])('OAUTH_HOSTS can’t be %s', (hosts) => {
    expect(readSettings({ OAUTH_HOSTS: hosts })).toMatchObject({
      faults: [expect.stringContaining('OAUTH_HOSTS must be')],
    });
  });

  test('in production with https, the documents have https addresses', async () => {
    const service = await startService({ environment: { BASE_URL: 'https://paint.example' } });
    const { body } = await call({ url: `http://127.0.0.1:${service.settings.port}` }, RESOURCE, { method: 'GET' });
    expect([body.resource, body.authorization_servers]).toEqual([
      'https://paint.example/connect',
      ['https://paint.example/oauth'],
    ]);
    await service.close();
  });
});
