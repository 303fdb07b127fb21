/** Addresses with a slash at the end, and the routes that they mean (reference §3.1). */
import fastify from 'fastify';
import { expect, test } from 'vitest';
import { openKnownPaths, redirectToSignIn } from '../../src/server/fallbacks.ts';

const paths = openKnownPaths();
const app = fastify();
paths.watch(app);
for (const url of ['/', '/a', '/quote', '/operator/leads/:id', '/actions/:action/preview', '/any/*']) {
  app.get(url, async () => 'found');
}
app.post('/quote', async () => 'found');

test('find returns the route of a path, and all its methods', () => {
  expect(paths.find('/quote')?.route).toBe('/quote');
  expect([...(paths.find('/quote')?.methods ?? [])].sort()).toEqual(['GET', 'HEAD', 'POST']);
  expect(paths.find('/operator/leads/7')?.route).toBe('/operator/leads/:id');
  expect(paths.find('/actions/contact/preview')?.route).toBe('/actions/contact/preview');
  const unknown = ['/quotes', '/operator/leads/', '/operator/leads/7/8', '/operator/x', '/actions/x/preview', '/any/x'];
  for (const path of unknown) expect(paths.find(path)).toBeUndefined();
});

test.each([
  ['/quote/', '/quote'],
  ['/quote/?a=/&b', '/quote?a=/&b'],
  ['/quote/?a#b', '/quote?a'],
  ['/quote/#b', '/quote'],
  ['/a/', '/a'],
  ['/operator/leads/7/', '/operator/leads/7'],
  ['/operator/leads/a%20b/?x=1', '/operator/leads/a%20b?x=1'],
  // The parameter is written again, so that its slash leads to no other path or host.
  ['/operator/leads/%2F%2Fevil.example/', '/operator/leads/%2F%2Fevil.example'],
])('%s is %s without its slash', (url, clean) => {
  expect(paths.withoutSlash(url)?.url).toBe(clean);
});

test.each([
  '/',
  '//',
  '/quote',
  '/quote?a=/',
  '/ax?b=/',
  '/quote#/',
  '/unknown/',
  '/operator/leads/',
  '/operator/leads/%ff/',
  '',
])('%j has no address without a slash', (url) => {
  expect(paths.withoutSlash(url)).toBeUndefined();
});

test('the router gets the address without its slash, unless a read is redirected', () => {
  expect(paths.rewriteUrl({ method: 'POST', url: '/quote/?a' })).toBe('/quote?a');
  expect(paths.rewriteUrl({ method: 'POST', url: '/unknown/' })).toBe('/unknown/');
  for (const method of ['GET', 'HEAD']) expect(paths.rewriteUrl({ method, url: '/quote/' })).toBe('/quote/');
  expect(paths.rewriteUrl({ method: 'POST', url: undefined })).toBe('');
});

test.each([
  ['GET', '/operator/leads?q=a%20b&c', '/operator/sign-in?page=%2Foperator%2Fleads%3Fq%3Da%2520b%26c'],
  ['GET', '/operator', '/operator/sign-in?page=%2Foperator'],
  ['POST', '/operator/leads?q=a', '/operator/sign-in'],
] as const)(
  '%s %s without a session leads to %s, which no cache and no search engine keeps',
  async (method, url, to) => {
    const guarded = fastify();
    guarded.addHook('onRequest', async (request, reply) => redirectToSignIn(request, reply));
    const { statusCode, headers } = await guarded.inject({ method, url });
    expect([statusCode, headers.location]).toEqual([303, to]);
    expect(headers).toMatchObject({ 'cache-control': 'no-store', 'x-robots-tag': 'noindex' });
  },
);
