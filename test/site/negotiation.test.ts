import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { formPages } from '../support/forms.ts';
import { type Service, startService } from '../support/service.ts';

const CHROMIUM = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const get = (path: string, headers: Record<string, string> = {}) => call(service, path, { method: 'GET', headers });
const pages = ['/', ...formPages, '/agents', '/privacy', '/receivers', '/receipts', '/thank-you', '/reference'];
/** Returns the expected Vary header. The thank-you page also depends on the form (`thanks.test.ts`). */
const varyOf = (path: string) => `Accept, Accept-Encoding${path === '/thank-you' ? ', Referer' : ''}`;
const mirrorOf = (path: string) => `${path === '/' ? '/index' : path}.md`;

describe.each(pages)('%s', (path) => {
  test('returns HTML to a browser, and its Markdown mirror for Accept: text/markdown', async () => {
    const page = await get(path, { accept: CHROMIUM });
    const markdown = await get(path, { accept: 'text/markdown' });
    const mirror = await get(mirrorOf(path));
    expect([page.status, markdown.status, mirror.status]).toEqual([200, 200, 200]);
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(page.text).toMatch(/^<!doctype html>/);
    expect(markdown.headers.get('content-type')).toBe('text/markdown; charset=utf-8');
    expect(markdown.headers.get('content-location')).toBe(mirrorOf(path));
    expect(markdown.headers.get('access-control-allow-origin')).toBe('*');
    expect(markdown.text).toBe(mirror.text);
    for (const answer of [page, markdown]) {
      expect(answer.headers.get('vary')).toBe(varyOf(path));
    }
    expect(mirror.headers.get('vary')).toBe('Accept-Encoding');
  });

  test('has one ETag per representation and returns 304 only for the matching one', async () => {
    const etagOf = async (accept: string) => (await get(path, { accept })).headers.get('etag') ?? '';
    const [html, markdown] = [await etagOf('text/html'), await etagOf('text/markdown')];
    expect(html).not.toBe(markdown);
    const again = async (accept: string, etag: string) => (await get(path, { accept, 'if-none-match': etag })).status;
    expect(await again('text/html', html)).toBe(304);
    expect(await again('text/markdown', markdown)).toBe(304);
    expect(await again('text/html', markdown)).toBe(200);
    expect(await again('text/markdown', html)).toBe(200);
    const unchanged = await get(path, { accept: 'text/markdown', 'if-none-match': markdown });
    expect(unchanged.headers.get('vary')).toBe(varyOf(path));
  });

  test('links to its mirror and to llms.txt, in the Link header and in the HTML head', async () => {
    const page = await get(path);
    const links = `<${mirrorOf(path)}>; rel="alternate"; type="text/markdown", </llms.txt>; rel="describedby"; type="text/plain"`;
    // The start page has more links (test/discovery/catalogs.test.ts).
    expect(page.headers.get('link')?.slice(0, links.length)).toBe(links);
    expect(page.text).toContain(`<link rel="alternate" type="text/markdown" href="${mirrorOf(path)}">`);
    expect(page.text).toContain('<link rel="describedby" type="text/plain" href="/llms.txt">');
    const mirror = await get(mirrorOf(path));
    expect(mirror.headers.get('link')).toBe(
      `<${path}>; rel="canonical", </llms.txt>; rel="describedby"; type="text/plain"`,
    );
  });

  test('has a description in Open Graph and schema.org', async () => {
    const { text } = await get(path);
    const property = (name: string) => new RegExp(`<meta property="og:${name}" content="([^"]+)">`).exec(text)?.[1];
    expect(property('site_name')).toBe('Paint Match');
    expect(property('type')).toBe('website');
    expect(property('url')).toBe(`${service.url}${path}`);
    const title = /<h1>(.*)<\/h1>/.exec(text)?.[1];
    const description = /<p class="lede">(.*)<\/p>/.exec(text)?.[1];
    expect([property('title'), property('description')]).toEqual([title, description]);

    const block = /<script type="application\/ld\+json">([^<]+)<\/script>/.exec(text)?.[1] ?? '';
    const { '@context': context, '@graph': graph } = JSON.parse(block);
    expect(context).toBe('https://schema.org');
    const [operator, website, page] = graph;
    expect(operator).toMatchObject({ '@type': 'Organization', name: 'Paint Match' });
    expect(website).toMatchObject({ '@type': 'WebSite', publisher: { '@id': operator['@id'] } });
    expect(page).toMatchObject({
      url: `${service.url}${path}`,
      inLanguage: 'en',
      isPartOf: { '@id': website['@id'] },
    });
    expect(page['@type']).toBe(path === '/contact' ? 'ContactPage' : 'WebPage');
  });
});

test.each(['*/*', 'text/*', 'application/json', 'text/markdown;q=0.5, text/html'])(
  'a page is returned as HTML for Accept: %s',
  async (accept) => {
    const page = await get('/quote', { accept });
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8');
  },
);

test('HEAD gets the same representation as GET', async () => {
  const head = (accept: string) => call(service, '/quote', { method: 'HEAD', headers: { accept } });
  expect((await head('text/markdown')).headers.get('content-type')).toMatch('text/markdown');
  expect((await head('text/html')).headers.get('content-type')).toMatch('text/html');
});

test('X-Robots-Tag is noindex only for the thank-you page and its mirror', async () => {
  for (const path of pages) {
    for (const each of [path, mirrorOf(path)]) {
      const robots = (await get(each)).headers.get('x-robots-tag');
      expect(robots, each).toBe(path === '/thank-you' ? 'noindex' : null);
    }
  }
});
