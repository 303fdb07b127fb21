/** The Open Graph picture that messengers and social networks show next to a link. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readContentOverrides } from '../../src/site/content-overrides.ts';
import { call } from '../support/agent.ts';
import { type Service, startService } from '../support/service.ts';

const BASE_URL = 'https://paint.example';

/** Returns the Open Graph and Twitter properties of a page. */
async function cardOf(service: Service, path: string): Promise<Record<string, string>> {
  const { text } = await call(service, path, { method: 'GET' });
  const said = text.matchAll(/<meta (?:property|name)="((?:og|twitter):[^"]+)" content="([^"]*)">/g);
  return Object.fromEntries([...said].map(([, name = '', content = '']) => [name, content]));
}

/** Returns the header of a PNG, which contains its size. */
function png(width: number, height: number): Buffer {
  const size = Buffer.alloc(8);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  return Buffer.concat([Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex'), size]);
}

let service: Service;
let local: Service;
beforeAll(async () => {
  service = await startService({ environment: { BASE_URL } });
  local = { ...service, url: `http://127.0.0.1:${service.settings.port}` };
});
afterAll(() => service.close());

test('every page names an Open Graph picture at an absolute address of this site', async () => {
  for (const path of [...(await service.parts.pages()).map((page) => page.path), '/reference']) {
    const card = await cardOf(local, path);
    expect(card, path).toMatchObject({
      'og:url': BASE_URL + path,
      'og:image': expect.stringMatching(/^https:\/\/paint\.example\/assets\/opengraph-[0-9a-f]{12}\.png$/),
      'og:image:width': '1200',
      'og:image:height': '630',
      'og:image:alt': 'A paint roller, and three paint chips from light blue to dark',
      'twitter:card': 'summary_large_image',
    });
  }
});

test('the Open Graph picture is served as an immutable, uncompressed PNG under 40 kB', async () => {
  const { 'og:image': address = '' } = await cardOf(local, '/');
  const answer = await fetch(local.url + new URL(address).pathname);
  const body = Buffer.from(await answer.arrayBuffer());
  expect(answer.headers.get('content-type')).toBe('image/png');
  expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
  expect(answer.headers.get('content-encoding')).toBeNull();
  expect(body.subarray(0, 24)).toEqual(png(1200, 630));
  expect(body.length).toBeLessThan(40_000);
});

test('an error page names no Open Graph picture', async () => {
  const headers = { accept: 'text/html' };
  const { text } = await call(local, '/nothing-here', { method: 'GET', headers });
  expect(text).not.toContain('og:image');
});

describe('opengraph.png in CONTENT_DIR', () => {
  const folder = mkdtempSync(join(tmpdir(), 'content-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  test('replaces the default picture, and pages state its own size and description', async () => {
    writeFileSync(join(folder, 'opengraph.png'), png(600, 315));
    writeFileSync(join(folder, 'words.yaml'), 'frame: { picture: "A red \\"door\\"" }');
    const own = await startService({ environment: { CONTENT_DIR: folder } });
    const card = await cardOf(own, '/quote');
    expect(card).toMatchObject({
      'og:image:width': '600',
      'og:image:height': '315',
      'og:image:alt': 'A red &quot;door&quot;',
    });
    const served = await fetch(card['og:image'] ?? '');
    expect(Buffer.from(await served.arrayBuffer())).toEqual(png(600, 315));
    await own.close();
  });

  test.each([
    ['a JPEG file', Buffer.from('ffd8ffe000104a464946', 'hex')],
    ['half of a PNG header', png(1200, 630).subarray(0, 20)],
    ['an empty file', Buffer.alloc(0)],
  ])('is rejected at the start if its content is %s', (_name, bytes) => {
    writeFileSync(join(folder, 'opengraph.png'), bytes);
    expect(() => readContentOverrides(folder)).toThrow(/^CONTENT_DIR: opengraph\.png is not a PNG\.$/);
  });
});
