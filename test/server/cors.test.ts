/** Which routes a page of another origin may read (reference §3.9). */
import { describe, expect, test } from 'vitest';
import { type RouteName, routes } from '../../src/routes.ts';
import { call } from '../support/agent.ts';
import { scenario } from '../support/scenario.ts';

const SHOP = 'https://shop.example';
const OTHER = 'https://other.example';
const HOST = 'https://host.example';
const at = scenario({ ALLOWED_ORIGINS: SHOP, MCP_ALLOWED_ORIGINS: HOST });

/** Returns the address of a route with a value for each parameter. */
const addressOf = (name: RouteName) => routes[name].path.replace(':action', 'contact').replace(/:\w+/g, 'a');

const preflight = (path: string, origin: string) =>
  call(at.service, path, { method: 'OPTIONS', headers: { origin, 'access-control-request-method': 'POST' } });

const sharedHeaders = (headers: Headers) => [...headers.keys()].filter((name) => name.startsWith('access-control-'));

describe('a form route', () => {
  test.each(['submitLead', 'subscribeNewsletter'] as const)(
    '%s exposes two headers to a listed origin',
    async (name) => {
      const { headers } = await call(at.service, addressOf(name), { headers: { origin: SHOP } });
      expect(headers.get('access-control-allow-origin')).toBe(SHOP);
      expect(headers.get('access-control-expose-headers')).toBe('submission-reference, retry-after');
    },
  );

  test('has no CORS headers for another origin', async () => {
    for (const { headers } of [
      await preflight('/api/leads', OTHER),
      await call(at.service, '/api/leads', { headers: { origin: OTHER } }),
    ]) {
      expect(headers.get('access-control-allow-origin')).toBeNull();
    }
  });
});

describe('a document', () => {
  test.each(['/api/agent/manifest', '/llms.txt', '/openapi.json', '/index.md', '/quote.md'])(
    'at %s answers the preflight of every origin',
    async (path) => {
      const { status, headers } = await preflight(path, OTHER);
      expect([status, headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    },
  );
});

describe('no other route', () => {
  const isShared = (name: RouteName) =>
    ['forms', 'discovery', 'definitions', 'tools'].includes(routes[name].group) ||
    /\.md$|^\/\.well-known\//.test(addressOf(name));
  const others = (Object.keys(routes) as RouteName[]).filter((name) => !isShared(name));

  test.each(others)('has CORS headers: %s', async (name) => {
    for (const origin of [SHOP, OTHER]) {
      const { status, headers } = await preflight(addressOf(name), origin);
      expect([status, headers.get('access-control-allow-origin')]).toEqual([expect.any(Number), null]);
      expect(status).not.toBe(204);
    }
  });
});

describe('OPTIONS that is no preflight', () => {
  test.each([
    ['neither header', {}],
    ['only Origin', { origin: SHOP }],
    ['only Access-Control-Request-Method', { 'access-control-request-method': 'POST' }],
  ])('is a method that no route has: %s', async (_name, headers) => {
    for (const path of ['/api/leads', '/api/agent/manifest', '/quote', '/mcp']) {
      const answer = await call(at.service, path, { method: 'OPTIONS', headers });
      expect([path, answer.status]).toEqual([path, 405]);
      expect(answer.headers.get('allow')).not.toContain('OPTIONS');
      expect(sharedHeaders(answer.headers)).toEqual([]);
    }
    expect((await call(at.service, '/nowhere', { method: 'OPTIONS', headers })).status).toBe(404);
  });
});

describe('a request of a listed host to /mcp that is no preflight', () => {
  test('is answered as usual: OPTIONS without the wanted method, and POST with it', async () => {
    const options = await call(at.service, '/mcp', { method: 'OPTIONS', headers: { origin: HOST } });
    expect([options.status, options.headers.get('access-control-allow-origin')]).toEqual([405, HOST]);
    const post = await call(at.service, '/mcp', { headers: { origin: HOST, 'access-control-request-method': 'POST' } });
    expect([post.status, post.headers.get('access-control-allow-origin')]).toEqual([401, HOST]);
  });
});
