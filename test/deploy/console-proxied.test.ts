/** Tests the operator console behind the proxies of `deploy/` and behind a caching proxy (reference §24.5). */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cookieOf, linkFor, type Operator, operatorWith, startWithConsole } from '../console/operator.ts';
import { caddyIsThere, startCaddy } from '../support/caddy.ts';
import { freePort } from '../support/free-port.ts';
import { nginxIsThere, startCachingNginx, startNginx } from '../support/nginx.ts';
import type { Service } from '../support/service.ts';
import { keepRows, recentRow } from '../support/submissions.ts';

const BASE_URL = 'https://paint.example';
/** Headers that a browser sends with a click on a page of `BASE_URL`. */
const FROM_OUR_PAGE = { 'sec-fetch-site': 'same-origin', origin: BASE_URL };
const SECRET = 'person who must be logged nowhere';

const proxies = [
  { name: 'nginx', isThere: nginxIsThere, start: (port: number) => startNginx([port]) },
  { name: 'Caddy', isThere: caddyIsThere, start: startCaddy },
];

const id = '0190a000-0000-7000-8000-000000000001';

async function startWithLead(): Promise<Service> {
  const service = await startWithConsole({
    environment: { BASE_URL, TRUST_PROXY: '127.0.0.1', OPERATOR_CONSOLE: 'on' },
  });
  const fields = { name: SECRET, email: 'ada@example.com', message: 'The terrace.' };
  const row = recentRow({ id, fields, status: 'undelivered', reason: 'rejected' });
  await keepRows(service.parts.storage, [row]);
  return service;
}

describe.each(proxies)('console behind $name', ({ isThere, start }) => {
  let service: Service;
  let proxy: Awaited<ReturnType<typeof start>>;
  beforeAll(async () => {
    service = await startWithLead();
    if (isThere) proxy = await start(service.settings.port);
  });
  afterAll(async () => {
    await proxy?.close();
    await service.close();
  });

  const nobody = () => operatorWith(proxy, '');
  async function signedIn(): Promise<Operator> {
    const path = await linkFor(service);
    const pressed = await nobody().press(path, {}, { headers: FROM_OUR_PAGE });
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, '/operator']);
    expect(pressed.headers.get('set-cookie')).toMatch(
      /^__Host-operator=[\w-]{22}; Path=\/; Max-Age=604800; HttpOnly; SameSite=Lax; Secure$/,
    );
    return operatorWith(proxy, cookieOf(pressed));
  }

  test.skipIf(!isThere)('sign-in, a page, a change and an export work', async () => {
    const operator = await signedIn();
    const page = await operator.get(`/operator/leads/${id}`);
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store']);
    expect(page.text).toContain(SECRET);
    const press = { do: 'dismiss', reason: 'answered' };
    const pressed = await operator.press(`/operator/leads/${id}`, press, {
      headers: FROM_OUR_PAGE,
    });
    expect([pressed.status, pressed.headers.get('location')]).toEqual([303, `/operator/leads/${id}`]);
    const exported = await operator.get('/operator/leads.csv');
    expect([exported.status, exported.headers.get('content-disposition')]).toEqual([
      200,
      'attachment; filename="leads.csv"',
    ]);
    expect(exported.text).toContain(SECRET);
  });

  test.skipIf(!isThere)(
    'accepts a click only from its own pages: by Sec-Fetch-Site, or by Origin if that header is missing',
    async () => {
      const operator = await signedIn();
      const press = (headers: Record<string, string>) =>
        operator.press(`/operator/leads/${id}`, { do: 'spam' }, { headers });
      expect((await press({ 'sec-fetch-site': 'cross-site', origin: BASE_URL })).status).toBe(403);
      expect((await press({ origin: 'https://evil.example' })).status).toBe(403);
      expect((await press({ origin: proxy.url })).status).toBe(403);
      expect((await press({})).status).toBe(403);
      // A repeated dismissal changes nothing, and gets the same answer as the first one.
      expect((await press({ origin: BASE_URL })).status).toBe(303);
    },
  );

  test.skipIf(!isThere)(
    'limits clicks by the real client address, also if X-Forwarded-For names other addresses',
    async () => {
      const path = (await linkFor(service)).replace(/[^/]+$/, 'A'.repeat(43));
      const statuses: number[] = [];
      for (let number = 1; number <= 21; number += 1) {
        const headers = { ...FROM_OUR_PAGE, 'x-forwarded-for': `203.0.113.${number}` };
        statuses.push((await nobody().press(path, {}, { headers })).status);
      }
      expect(statuses.at(-1)).toBe(429);
    },
  );

  test.skipIf(!isThere)('service and proxy log neither the token of a sign-in link nor a search term', async () => {
    const path = await linkFor(service);
    const token = path.split('/').at(-1) ?? '';
    await nobody().get(path);
    // Without a server behind it, the proxy logs an error, which could contain the request line.
    const alone = await start(await freePort());
    const statuses = [
      await operatorWith(alone, '').get(path),
      await operatorWith(alone, '').press(path, {}, { headers: FROM_OUR_PAGE }),
      await operatorWith(alone, '').get('/operator/leads?q=looked-for', {
        referer: `${BASE_URL}${path}`,
      }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([502, 502, 502]);
    await alone.close();
    for (const said of [proxy.said(), alone.said(), ...service.logs]) {
      expect(said).not.toContain(token);
      expect(said).not.toContain('looked-for');
    }
  });
});

describe.skipIf(!nginxIsThere)('console behind a caching proxy', () => {
  test('pages, refusals and exports forbid caching, so that the proxy stores none', async () => {
    const service = await startWithLead();
    const proxy = await startCachingNginx(service.settings.port);
    const path = await linkFor(service);
    const pressed = await operatorWith(proxy, '').press(path, {}, { headers: FROM_OUR_PAGE });
    const operator = operatorWith(proxy, cookieOf(pressed));
    const pages = ['', '/leads', `/leads/${id}`, `/people/${id}`, '/audit', '/leads.csv', '/nothing'];
    for (const page of [path, ...pages.map((each) => `/operator${each}`)]) {
      for (let time = 1; time <= 3; time += 1) {
        expect((await operator.get(page)).headers.get('x-kept')).toBe('MISS');
      }
      const stranger = await operatorWith(proxy, '').get(page);
      expect(stranger.headers.get('x-kept')).toBe('MISS');
      expect(stranger.text).not.toContain(SECRET);
    }
    // The proxy caches an answer that allows it.
    const manifest = () => operator.get('/.well-known/service-agent.json');
    await manifest();
    expect((await manifest()).headers.get('x-kept')).toBe('HIT');
    await proxy.close();
    await service.close();
  });
});
