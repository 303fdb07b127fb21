import Fastify, { type FastifyInstance } from 'fastify';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { defaultAssets } from '../../src/site/assets.ts';
import { pageNames } from '../../src/site/content-overrides.ts';
import { loadPages, type Page } from '../../src/site/pages.ts';
import { registerSite } from '../../src/site/routes.ts';
import { deployment } from './deployment.ts';

const assets = Object.values(defaultAssets);

let app: FastifyInstance;
let origin: string;
let pages: Page[];

beforeAll(async () => {
  pages = loadPages(deployment);
  app = Fastify();
  registerSite(app, { pageNames: pageNames(), pages: async () => pages, assets });
  origin = await app.listen({ host: '127.0.0.1', port: 0 });
});

afterAll(() => app.close());

test('every page is served as it was rendered', async () => {
  for (const page of pages) {
    const answer = await fetch(origin + page.path);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(await answer.text()).toBe(page.html);
  }
});

test('every mirror is served as Markdown that any origin may read', async () => {
  for (const page of pages) {
    const answer = await fetch(origin + page.markdownPath);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('cache-control')).toMatch(/^public/);
    expect(await answer.text()).toBe(page.markdown);
  }
});

test('an unchanged page, mirror or asset returns 304 without a body', async () => {
  for (const path of ['/quote', '/quote.md', assets[0]?.path]) {
    const first = await fetch(`${origin}${path}`);
    const etag = first.headers.get('etag') ?? '';
    expect(etag).toMatch(/^".+"$/);
    const again = await fetch(`${origin}${path}`, { headers: { 'if-none-match': etag } });
    expect(again.status).toBe(304);
    expect(await again.text()).toBe('');
    const other = await fetch(`${origin}${path}`, { headers: { 'if-none-match': '"other"' } });
    expect(other.status).toBe(200);
  }
});

test('the assets that pages link are served as immutable under hashed paths', async () => {
  const linkedBy = async (path: string) =>
    new Set((await (await fetch(origin + path)).text()).match(/\/assets\/[^"]+/g));
  const all = assets.map(({ path }) => path);
  const allBut = (script: RegExp) => new Set(all.filter((path) => !script.test(path)));
  // Forms link one script, pages with tables or commands another, and confirmation pages a third.
  expect(await linkedBy('/quote')).toEqual(allBut(/\/(scroll|times)-|\.css$/));
  expect(await linkedBy('/agents')).toEqual(allBut(/\/(form|times)-|\.css$/));
  expect(await linkedBy('/thank-you')).toEqual(allBut(/\.(js|css)$/));
  expect(await linkedBy('/')).toEqual(allBut(/\.(js|css)$/));
  for (const asset of assets) {
    const answer = await fetch(origin + asset.path);
    expect(answer.headers.get('content-type')).toBe(asset.contentType);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(await answer.text()).toBe(asset.body.toString('utf8'));
  }
});

test('the stylesheet loads nothing and follows the colour scheme', () => {
  const css = assets[0]?.body.toString('utf8') ?? '';
  expect(css).not.toMatch(/@import|url\(|https?:/);
  expect(css).toContain('@media (prefers-color-scheme: dark)');
});

test('a page that could not be loaded makes its request fail', async () => {
  const broken = Fastify();
  registerSite(broken, { pageNames: ['quote'], pages: async () => [], assets: [] });
  const { statusCode, body } = await broken.inject('/quote');
  expect([statusCode, JSON.parse(body).message]).toEqual([500, 'There is no page at /quote.']);
  await broken.close();
});
