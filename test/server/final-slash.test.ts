/** A path with a superfluous final slash (reference §3.1), which some clients and sites add. */
import { describe, expect, test } from 'vitest';
import type { Route } from '../../src/route-groups.ts';
import { routes } from '../../src/routes.ts';
import { linkFor, operatorWith, signIn, signInFor, startWithConsole } from '../console/operator.ts';
import { call, previewAction, previewId, quote } from '../support/agent.ts';
import { atEndOfFile } from '../support/leftovers.ts';
import { scenario } from '../support/scenario.ts';
import { type Service, tokens } from '../support/service.ts';
import { exchange } from '../support/wire.ts';

const at = scenario({ ALLOWED_ORIGINS: 'https://shop.example' });

const open = (path: string, options: { method?: string; headers?: Record<string, string> } = {}) =>
  call(at.service, path, { method: 'GET', ...options });
const locationOf = ({ headers }: { headers: Headers }) => headers.get('location');

describe('GET and HEAD with a final slash', () => {
  test.each([
    ['/quote/', '/quote'],
    ['/contact/', '/contact'],
    ['/quote.md/', '/quote.md'],
    ['/openapi.json/', '/openapi.json'],
    ['/agents/openapi.json/', '/agents/openapi.json'],
    ['/.well-known/agent-skills/index.json/', '/.well-known/agent-skills/index.json'],
    ['/healthz/', '/healthz'],
    ['/quote/?utm_source=mail&x=%2F%2Fy/', '/quote?utm_source=mail&x=%2F%2Fy/'],
    ['/api/agent/content/?resource=quote', '/api/agent/content?resource=quote'],
    ['/%71uote/', '/quote'],
    ['/api/agent/receipts/a%20b/', '/api/agent/receipts/a%20b'],
    ['/api/agent/receipts/%2F%2Fevil.example/', '/api/agent/receipts/%2F%2Fevil.example'],
    ['/api/agent/receipts/%0D%0Ax:y/', '/api/agent/receipts/%0D%0Ax%3Ay'],
    // Routes of another method redirect as well.
    ['/mcp/', '/mcp'],
    ['/api/leads/', '/api/leads'],
    ['/api/agent/actions/contact/preview/', '/api/agent/actions/contact/preview'],
  ])('redirect %s to %s', async (path, clean) => {
    for (const method of ['GET', 'HEAD']) {
      const answer = await open(path, { method });
      expect([answer.status, locationOf(answer), answer.text]).toEqual([308, clean, '']);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    }
  });

  test('redirect to every route without a parameter', async () => {
    const found: [string, number, string | null][] = [];
    const wanted: typeof found = [];
    for (const { path, group } of Object.values<Route>(routes)) {
      // In production, OAuth needs an https address.
      const isOff = ['console', 'signIn', 'metrics'].includes(group) || /oauth|^\/connect$/.test(path);
      const isServed = !isOff && path !== '/';
      if (!isServed || path.includes(':') || path === routes.securityContact.path) continue;
      const answer = await open(`${path}/`);
      found.push([path, answer.status, locationOf(answer)]);
      wanted.push([path, 308, path]);
    }
    expect(found).toEqual(wanted);
    expect(found.length).toBeGreaterThan(20);
  });

  test.each([
    '//evil.example/',
    '//evil.example//',
    '/%2F..',
    '/%2F../',
    '/%2Fevil.example/',
    '/\\evil.example/',
    '/%5Cevil.example/',
    '/nothing/',
    '/nothing/here/',
    '/quote//',
    '/quote/.%2F/',
    '//',
    '///',
    '/api/agent/actions/unknown/preview/',
    '/operator/',
    '/operator/leads/',
  ])('return 404 for %s', async (path) => {
    const [reply] = await exchange(at.service.url, `GET ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect([reply?.status, reply?.headers.location]).toEqual([404, undefined]);
  });

  test.each([
    ['http://evil.example/quote/', '/quote'],
    ['http://evil.example/quote/?a=1', '/quote?a=1'],
  ])('redirect the absolute target %s to %s', async (target, clean) => {
    const [reply] = await exchange(at.service.url, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect([reply?.status, reply?.headers.location]).toEqual([308, clean]);
  });

  test('serve a path that ends with an empty parameter without a redirect', async () => {
    expect((await open('/api/agent/receipts/')).status).toBe(401);
    expect((await open('/confirm/')).status).toBe(404);
    expect((await open('/newsletter/leave/')).status).toBe(200);
  });

  test.each(['http://evil.example/', '/', '/?a=/', '/quote?a=/'])(
    'serve the target %s without a redirect',
    async (target) => {
      const [reply] = await exchange(at.service.url, `GET ${target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
      expect(reply?.status).toBe(200);
    },
  );
});

describe('other methods with a final slash', () => {
  const bearer = { authorization: `Bearer ${tokens.both}` };

  test('list the tools at POST /mcp/', async () => {
    const headers = { ...bearer, 'mcp-protocol-version': '2025-11-25' };
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list' });
    const { status, text } = await call(at.service, '/mcp/', { headers, body });
    expect([status, text]).toEqual([200, expect.stringContaining('"preview_contact"')]);
  });

  test('forward a lead at POST /api/leads/', async () => {
    await at.expecting({ forwarded: 1 }, async () => {
      const body = JSON.stringify({ form: 'homeowner_quote', ...quote });
      const headers = { 'content-type': 'application/json' };
      expect((await call(at.service, '/api/leads/', { headers, body })).status).toBe(200);
    });
  });

  test('answer a refused native form at POST /api/leads/ with a page', async () => {
    const body = new URLSearchParams({ form: 'homeowner_quote' });
    const answer = await call(at.service, '/api/leads/', { body });
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
  });

  test('preview, request and cancel a confirmation at the agent routes', async () => {
    const headers = { ...bearer, 'content-type': 'application/json' };
    const previewed = await call(at.service, '/api/agent/actions/contact/preview/', {
      headers,
      body: '{}',
    });
    expect([previewed.status, previewed.body.error]).toEqual([
      400,
      (await previewAction(at.service, 'contact', {})).body.error,
    ]);
    const preview_id = await previewId(at.service);
    const keyed = { ...headers, 'idempotency-key': 'slash' };
    const body = JSON.stringify({ preview_id });
    const asked = await call(at.service, '/api/agent/confirmations/', { headers: keyed, body });
    expect(asked.status).toBe(201);
    const { id } = asked.body.confirmation;
    const path = `/api/agent/confirmations/${id}/`;
    const cancelled = await call(at.service, path, { method: 'DELETE', headers: bearer });
    expect(cancelled.body.confirmation).toMatchObject({ id, status: 'expired' });
  });

  test('unsubscribe at POST /newsletter/leave/TOKEN/', async () => {
    const token = 'A'.repeat(22);
    const { status } = await call(at.service, `/newsletter/leave/${token}/`);
    expect(status).toBe(200);
  });

  test('return 405 if the path without the slash returns 405', async () => {
    for (const path of ['/quote', '/mcp', '/api/leads', '/healthz']) {
      const [with_, without] = await Promise.all(
        [`${path}/`, path].map((each) => call(at.service, each, { method: 'PUT' })),
      );
      expect([with_?.status, with_?.headers.get('allow')]).toEqual([405, without?.headers.get('allow')]);
      expect(with_?.text).toBe(without?.text);
    }
  });

  test('answer a preflight as for the path without the slash', async () => {
    const headers = {
      origin: 'https://shop.example',
      'access-control-request-method': 'POST',
    };
    const answer = await call(at.service, '/api/leads/', { method: 'OPTIONS', headers });
    expect([answer.status, answer.headers.get('access-control-allow-origin')]).toEqual([204, headers.origin]);
  });

  test('return 404 for an unknown path', async () => {
    for (const path of ['/nothing/', '//evil.example/', '/api/leads//', '/mcp//']) {
      expect((await call(at.service, path)).status, path).toBe(404);
    }
  });
});

test('log lines contain the path of the route without a final slash', async () => {
  await call(at.service, '/api/leads/', { body: '{' });
  await open('/quote/');
  const logged = at.service.logs.map((line) => JSON.parse(line).route);
  expect(logged.filter((route) => route?.length > 1 && route.endsWith('/'))).toEqual([]);
});

describe('console with a final slash', () => {
  let service: Service | undefined;
  const started = async () => {
    if (service === undefined) {
      service = await startWithConsole();
      atEndOfFile(() => service?.close());
    }
    return service;
  };

  test('redirects a visitor without a session to the sign-in page, also for an unknown path', async () => {
    const stranger = operatorWith(await started(), '');
    for (const path of ['/operator/', '/operator/leads/', '/operator/leads/x/', '/operator/nothing/']) {
      for (const headers of [{}, { cookie: 'operator=x' }]) {
        const answer = await stranger.get(path, headers);
        expect([answer.status, locationOf(answer)]).toEqual([303, signInFor(path)]);
      }
    }
  });

  test('redirects a signed-in operator to the path without the slash', async () => {
    const operator = await signIn(await started());
    for (const path of ['/operator/leads', '/operator/audit', '/operator']) {
      const answer = await operator.get(`${path}/?page=2`);
      expect([answer.status, locationOf(answer)]).toEqual([308, `${path}?page=2`]);
    }
  });

  test('redirects a sign-in link with a final slash to the link without the slash', async () => {
    const link = await linkFor(await started());
    const answer = await operatorWith(await started(), '').get(`${link}/`);
    expect([answer.status, locationOf(answer)]).toEqual([308, link]);
  });
});
