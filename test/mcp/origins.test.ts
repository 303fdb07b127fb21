/** Origins of pages and desktop hosts that may call the tools from a browser engine (reference §8.3). */
import { describe, expect, test } from 'vitest';
import { readSettings } from '../../src/settings/settings.ts';
import { call } from '../support/agent.ts';
import { atEndOfFile } from '../support/leftovers.ts';
import { send, toolNames } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { type Service, startService } from '../support/service.ts';

const HOSTS = ['vscode-file://vscode-app', 'https://claude.ai', 'app://-', 'file://'];
const listed = scenario({ MCP_ALLOWED_ORIGINS: HOSTS.join(', ') });

const LOOPBACK = [
  'http://localhost:34800',
  'http://127.0.0.1:6274',
  'http://127.0.0.1',
  'https://localhost',
  'http://[::1]:8080',
  'http://inspector.localhost:5173',
  'http://a.b.localhost',
  'http://localhost.:3000',
  'http://127.0.0.2:6274',
  'http://127.255.255.254',
  'https://127.1.2.3:8443',
  'http://127.199.249.10',
  // ::ffff:127.0.0.1, as browsers write it.
  'http://[::ffff:7f00:1]:8080',
  'http://[::ffff:7fff:fffe]',
];
const FOREIGN = [
  'https://elsewhere.example',
  'https://claude.ai.elsewhere.example',
  'https://claude.ai:8443',
  'http://claude.ai',
  'vscode-file://elsewhere',
  'null',
  '',
];

let local: Service | undefined;
async function localMode(): Promise<Service> {
  if (local === undefined) {
    local = await startService({ environment: { NODE_ENV: 'development' } });
    atEndOfFile(() => local?.close());
  }
  return local;
}

const list = (service: Service, origin: string, options: Parameters<typeof send>[3] = {}) =>
  send(service, 'tools/list', {}, { ...options, headers: { origin } });

const shared = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));

function preflight(service: Service, origin: string, path = '/mcp') {
  return call(service, path, {
    method: 'OPTIONS',
    headers: {
      origin,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization,content-type,mcp-protocol-version',
    },
  });
}

describe('/mcp for an origin in MCP_ALLOWED_ORIGINS', () => {
  test.each(HOSTS)('lets %s read the list of tools', async (origin) => {
    const { status, headers, body } = await list(listed.service, origin);
    expect([status, body.result.tools.length]).toEqual([200, toolNames.length]);
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(headers.get('vary')).toContain('Origin');
    expect(headers.has('access-control-allow-credentials')).toBe(false);
    expect(headers.get('access-control-expose-headers')?.split(', ')).toEqual([
      ...['www-authenticate', 'retry-after', 'ratelimit', 'ratelimit-policy', 'x-request-id'],
      ...['mcp-session-id', 'sandbox'],
    ]);
  });

  test.each(HOSTS)('lets %s read 401 and 405', async (origin) => {
    for (const answer of [
      await list(listed.service, origin, { token: null }),
      await call(listed.service, '/mcp', { method: 'GET', headers: { origin } }),
    ]) {
      expect([401, 405]).toContain(answer.status);
      expect(answer.headers.get('access-control-allow-origin')).toBe(origin);
    }
  });

  test.each(HOSTS)('answers a preflight of %s with 204, and allows the headers of MCP clients', async (origin) => {
    const { status, headers } = await preflight(listed.service, origin);
    expect(status).toBe(204);
    expect(headers.get('access-control-allow-origin')).toBe(origin);
    expect(headers.get('access-control-allow-methods')).toBe('POST');
    expect(headers.get('access-control-allow-headers')?.split(', ')).toEqual([
      ...['authorization', 'content-type', 'traceparent'],
      ...['mcp-protocol-version', 'mcp-method', 'mcp-name', 'mcp-session-id'],
    ]);
    expect(headers.get('vary')).toContain('Origin');
  });

  test('sends no CORS headers on other routes', async () => {
    const [origin = ''] = HOSTS;
    for (const path of ['/api/leads', '/api/agent/actions/contact/preview', '/mcp/x']) {
      const asked = await preflight(listed.service, origin, path);
      expect(asked.headers.has('access-control-allow-origin')).toBe(false);
      const answer = await call(listed.service, path, { headers: { origin } });
      expect(answer.headers.has('access-control-allow-origin')).toBe(false);
    }
  });
});

describe('/mcp for an origin that is not in MCP_ALLOWED_ORIGINS', () => {
  test.each([...FOREIGN, ...LOOPBACK])('returns 403 without CORS headers to %o', async (origin) => {
    const { status, headers } = await list(listed.service, origin);
    expect([status, shared(headers)]).toEqual([403, []]);
    const asked = await preflight(listed.service, origin);
    expect([asked.status, shared(asked.headers)]).toEqual([405, []]);
  });

  test('returns 403 if a second Origin header follows one with an allowed origin', async () => {
    const headers = new Headers([
      ['origin', HOSTS[0] ?? ''],
      ['origin', 'https://elsewhere.example'],
    ]);
    const answer = await fetch(`${listed.service.url}/mcp`, { method: 'POST', headers });
    expect([answer.status, shared(answer.headers)]).toEqual([403, []]);
  });
});

describe('/mcp in local mode', () => {
  test.each(LOOPBACK)('lets the loopback origin %s read the list of tools', async (origin) => {
    const service = await localMode();
    const { status, headers } = await list(service, origin);
    expect([status, headers.get('access-control-allow-origin')]).toEqual([200, origin]);
    expect((await preflight(service, origin)).status).toBe(204);
  });

  test.each([
    ...FOREIGN,
    'http://localhost.elsewhere.example',
    'http://127.0.0.1.elsewhere.example',
    'http://127.0.0.256',
    'http://127.0.0.01',
    'http://127.0.0',
    'http://127.0.0.1.',
    'http://128.0.0.1',
    'http://0.0.0.0',
    'http://[::2]',
    'http://[::ffff:8000:1]',
    'http://.localhost',
    'http://notlocalhost',
    'http://user@localhost',
    'http://localhost/',
    'app://localhost',
    'evil-http://localhost',
  ])('returns 403 without CORS headers to %o', async (origin) => {
    const service = await localMode();
    const { status, headers } = await list(service, origin);
    expect([status, shared(headers)]).toEqual([403, []]);
  });
});

test('/mcp returns 404 to a preflight of an allowed origin with MCP=off', async () => {
  const service = await startService({
    environment: { MCP: 'off', MCP_ALLOWED_ORIGINS: 'https://claude.ai' },
  });
  const { status, headers } = await preflight(service, 'https://claude.ai');
  expect([status, shared(headers)]).toEqual([404, []]);
  await service.close();
});

test.each([
  '*',
  'null',
  'canary',
  'https://*.canary.example',
  'vscode-file://*',
  '*://canary',
  'https://canary.example/',
  'https://canary.example:443',
  'https://user@canary.example',
  'vscode-file://canary/path',
  'vscode-file://canary?x',
  'vscode-file:canary',
  'data:canary',
])('MCP_ALLOWED_ORIGINS=%s is rejected with one sentence without the value', (value) => {
  const read = readSettings({ MCP_ALLOWED_ORIGINS: value });
  const faults = read.kind === 'invalid' ? read.faults : [];
  expect(faults).toEqual([expect.stringMatching(/^MCP_ALLOWED_ORIGINS must be origins [^\n]+\.$/)]);
  expect(faults.join()).not.toContain('canary');
});
