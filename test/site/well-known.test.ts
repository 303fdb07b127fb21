import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService({
    environment: { BASE_URL: 'https://paint.example' },
  });
  service.url = `http://127.0.0.1:${service.settings.port}`;
});
afterAll(() => service.close());

const get = (path: string, from = service) => call(from, path, { method: 'GET' });

test('the sitemap lists the public address of every page without noindex', async () => {
  const { headers, text } = await get('/sitemap.xml');
  expect(headers.get('content-type')).toBe('application/xml; charset=utf-8');
  expect(text).toMatch(/^<\?xml version="1.0" encoding="UTF-8"\?>\n<urlset xmlns="[^"]+">/);
  const base = 'https://paint.example';
  const paths = [...text.matchAll(/<loc>([^<]*)<\/loc>/g)].map(([, address = '']) => {
    expect(address.startsWith(base)).toBe(true);
    return address.slice(base.length);
  });
  const shown = (await service.parts.pages()).filter(({ noindex }) => !noindex).map(({ path }) => path);
  expect(paths).toEqual([...shown, '/reference']);
  expect(paths).not.toContain('/thank-you');
  for (const path of paths) expect((await get(path)).status, path).toBe(200);
});

test('robots.txt allows everything, and names the sitemap and the manifest for agents', async () => {
  const { headers, text } = await get('/robots.txt');
  expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
  expect(text).toBe(
    'User-agent: *\nAllow: /\n\nSitemap: https://paint.example/sitemap.xml\nAgentmap: https://paint.example/.well-known/ard.json\n',
  );
});

test('favicon.ico redirects to the icon that the pages link', async () => {
  const { status, headers } = await get('/favicon.ico');
  expect([status, headers.get('cache-control')]).toEqual([302, 'public, max-age=300']);
  const icon = headers.get('location') ?? '';
  expect((await get('/')).text).toContain(`<link rel="icon" type="image/svg+xml" href="${icon}">`);
  expect((await get(icon)).headers.get('content-type')).toBe('image/svg+xml');
});

describe('security.txt', () => {
  test('returns 404 without a contact', async () => {
    expect((await get('/.well-known/security.txt')).status).toBe(404);
  });

  test.each([
    ['help@paint.example', 'mailto:help@paint.example'],
    ['+1 (555) 0100', 'tel:+15550100'],
  ])('contains the contact %s and expires within a year', async (contact, href) => {
    const clock = testClock('2026-11-21T12:00:00.000Z');
    const other = await startService({ environment: { OPERATOR_CONTACT: contact }, clock });
    const { status, headers, text } = await get('/.well-known/security.txt', other);
    await other.close();
    expect(status).toBe(200);
    expect(headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(text).toBe(
      `Contact: ${href}\nExpires: 2027-05-01T00:00:00.000Z\nCanonical: ${other.url}/.well-known/security.txt\n`,
    );
  });
});
