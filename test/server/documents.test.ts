/** Documents: encodings, ETags and conditional requests (reference §3.11). */
import { once } from 'node:events';
import { type IncomingHttpHeaders, type IncomingMessage, request } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { prepareDocument } from '../../src/server/documents.ts';
import { scenario } from '../support/scenario.ts';

const at = scenario();

type Raw = { status: number | undefined; headers: IncomingHttpHeaders; body: Buffer };

/** Sends a request without the headers that `fetch` adds. Returns the body as it was sent. */
async function ask(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Raw> {
  const sent = request(at.service.url + path, { method, headers }).end();
  const [answer] = (await once(sent, 'response')) as [IncomingMessage];
  return { status: answer.statusCode, headers: answer.headers, body: await buffer(answer) };
}

const accepting = (encoding: string, path = '/api/agent/manifest') => ask(path, { 'accept-encoding': encoding });

const decoded = { br: brotliDecompressSync, gzip: gunzipSync };

describe.each(['/api/agent/manifest', '/quote', '/quote.md', '/openapi.json'])('%s', (path) => {
  test.each(['br', 'gzip'] as const)(
    'is sent as %s if the request accepts it, with an ETag of its own',
    async (encoding) => {
      const plain = await ask(path);
      const { headers, body } = await accepting(encoding, path);
      expect(headers['content-encoding']).toBe(encoding);
      expect(decoded[encoding](body).equals(plain.body)).toBe(true);
      expect(body.length).toBeLessThan(plain.body.length / 2);
      expect(headers.vary).toContain('Accept-Encoding');
      expect([plain.headers['cache-control'], headers['cache-control']]).toEqual(Array(2).fill('public, max-age=300'));
      expect(plain.headers).not.toHaveProperty('content-encoding');
      expect(
        new Set([plain, await accepting('br', path), await accepting('gzip', path)].map((one) => one.headers.etag))
          .size,
      ).toBe(3);
    },
  );
});

describe('the encoding', () => {
  test.each([
    ['gzip, deflate, br', 'br'],
    ['br;q=0.5, gzip', 'br'],
    ['gzip;q=0.1', 'gzip'],
    ['x-gzip', 'gzip'],
    ['deflate', undefined],
    ['brotli', undefined],
    ['', undefined],
    // A request that refuses an encoding gets the plain document, which every client can read.
    ['br;q=0', undefined],
    ['br ; q=0 , gzip', undefined],
    ['br;q=0.0', undefined],
    ['gzip;q=0.000, br', undefined],
    ['gzip;q=0.001', 'gzip'],
  ])('for Accept-Encoding %j is %s', async (accepted, encoding) => {
    expect((await accepting(accepted)).headers['content-encoding']).toBe(encoding);
  });

  test('for no Accept-Encoding is none', async () => {
    expect((await ask('/api/agent/manifest')).headers).not.toHaveProperty('content-encoding');
  });
});

describe('If-None-Match', () => {
  test.each(['identity', 'br', 'gzip'])('gets 304 for the ETag of the same encoding: %s', async (encoding) => {
    const { headers, body } = await accepting(encoding);
    const tag = headers.etag ?? '';
    for (const condition of [tag, `W/${tag}`, `"other", ${tag}`, `"a",W/${tag} `, '*', '"other", *']) {
      const asked = { 'accept-encoding': encoding, 'if-none-match': condition };
      const got = await ask('/api/agent/manifest', asked);
      expect([condition, got.status, got.headers.etag, got.body.length]).toEqual([condition, 304, tag, 0]);
      const head = await ask('/api/agent/manifest', asked, 'HEAD');
      expect([head.status, head.headers['content-length']]).toEqual([304, String(body.length)]);
    }
  });

  test('gets 200 for the ETag of another encoding, and for a part of the ETag', async () => {
    const plain = (await ask('/api/agent/manifest')).headers.etag ?? '';
    const compressed = await ask('/api/agent/manifest', { 'accept-encoding': 'br', 'if-none-match': plain });
    expect(compressed.status).toBe(200);
    for (const condition of [plain.slice(1, -1), plain.replace(/"$/, '-br"'), '"*"']) {
      expect((await ask('/api/agent/manifest', { 'if-none-match': condition })).status).toBe(200);
    }
  });
});

describe('prepareDocument', () => {
  const tagOf = (content: string | Buffer, type = 'text/plain') =>
    prepareDocument(() => content, type).identity.headers.etag;

  test('compresses 1,000 bytes and not 999', () => {
    const long = prepareDocument(() => 'x'.repeat(1_000), 'text/plain');
    expect([long.br.headers['content-encoding'], long.gzip.headers['content-encoding']]).toEqual(['br', 'gzip']);
    const short = prepareDocument(() => 'x'.repeat(999), 'text/plain');
    expect([short.br, short.gzip]).toEqual([short.identity, short.identity]);
  });

  test('does not compress a PNG', () => {
    const picture = prepareDocument(() => Buffer.alloc(5_000), 'image/png');
    expect([picture.br, picture.gzip]).toEqual([picture.identity, picture.identity]);
  });

  test('has an ETag of 22 characters that depends on content and content type', () => {
    expect(tagOf('a')).toMatch(/^"[\w-]{22}"$/);
    expect(tagOf('a')).toBe(tagOf(Buffer.from('a')));
    expect(new Set([tagOf('a'), tagOf('b'), tagOf('a', 'text/html')]).size).toBe(3);
  });

  test('makes the content once, at the first use', () => {
    let made = 0;
    const document = prepareDocument(() => {
      made += 1;
      return 'x'.repeat(2_000);
    }, 'text/plain');
    expect(made).toBe(0);
    for (const each of [document.identity, document.br, document.gzip, document.identity]) expect(each).toBeDefined();
    expect(made).toBe(1);
  });
});
