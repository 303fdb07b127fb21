/** The thank-you page. It derives the form that was sent from the Referer header. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call } from '../support/agent.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.close());

const from = (path: string) => ({ referer: `${service.url}${path}` });
const thanked = (headers: Record<string, string> = {}, on = service) =>
  call(on, '/thank-you', { method: 'GET', headers });
const headingOf = (text: string) => /<h1>(.*)<\/h1>/.exec(text)?.[1];

describe('GET /thank-you', () => {
  test.each([
    ['/quote', 'Request sent', /Vetted Painters reads your request.*two working days/],
    ['/contractors', 'Request sent', /to find a time.*two working days/],
    ['/contact', 'Message sent', /Paint Match reads your message.*two working days/],
    ['/newsletter', 'Check your inbox', /arrives within minutes/],
    // A refused subscription is shown at this address and sent again from there.
    ['/api/subscribe', 'Check your inbox', /arrives within minutes/],
  ])('shows only the next steps of the form after a post from %s', async (path, heading, next) => {
    const { text, status } = await thanked(from(path));
    expect([status, headingOf(text)]).toEqual([200, heading]);
    expect(text).toContain(`<title>${heading} · Paint Match</title>`);
    const prose = text.replaceAll('\n', ' ');
    expect(prose).toMatch(next);
    expect(prose).not.toContain('You asked for');
    expect(prose).not.toContain('{{');
    expect(text.includes('class="chip"')).toBe(path === '/quote');
  });

  test.each([
    ['no page', {}],
    ['the start page', { referer: '/' }],
    ['any refused form', { referer: '/api/leads' }],
    ['another site', { referer: 'https://elsewhere.example/quote' }],
    ['an invalid address', { referer: 'quote' }],
  ])(
    'shows the next steps of every form if the Referer is %s',
    async (_where, { referer = '' }: { referer?: string }) => {
      const { text } = await thanked(referer.startsWith('/') ? from(referer) : { referer });
      expect(headingOf(text)).toBe('Thank you');
      expect(text).toMatch(/You asked for a quote:[\s\S]*You subscribed:/);
    },
  );
});

test('varies by Referer, so that no cache shows the page of another form', async () => {
  const quote = await thanked(from('/quote'));
  const etag = quote.headers.get('etag') ?? '';
  for (const { headers } of [quote, await thanked()]) {
    expect(headers.get('vary')).toBe('Accept, Accept-Encoding, Referer');
    expect(headers.get('cache-control')).toBe('private, no-cache');
    expect(headers.get('x-robots-tag')).toBe('noindex');
  }
  const conditional = { 'if-none-match': etag };
  expect((await thanked({ ...from('/quote'), ...conditional })).status).toBe(304);
  const other = await thanked({ ...from('/contact'), ...conditional });
  expect([other.status, headingOf(other.text)]).toEqual([200, 'Message sent']);
  expect((await thanked(conditional)).status).toBe(200);
});

test('GET /thank-you.md shows the next steps of each form, whatever the Referer is', async () => {
  const { text } = await call(service, '/thank-you.md', { method: 'GET', headers: from('/quote') });
  expect(text).toMatch(/^# Thank you\n/);
  expect(text).toContain('**You sent a message:**');
  expect(text).not.toContain('writes or calls if something is unclear');
  const negotiated = await thanked({ ...from('/quote'), accept: 'text/markdown' });
  expect(negotiated.text).toBe(text);
});

test('a native post redirects to /thank-you without a query', async () => {
  const answer = await call(service, '/api/leads', {
    headers: { 'content-type': 'application/x-www-form-urlencoded', ...from('/contact') },
    body: 'form=contact&name=Ada&email=ada%40example.com&subject=Hello&message=Hello',
  });
  expect([answer.status, answer.headers.get('location')]).toEqual([303, '/thank-you']);
});

describe('thank-you.md in CONTENT_DIR', () => {
  const page = (head: string, body: string) =>
    `---\ntitle: Danke\ndescription: Es ist da.\norder: 8\n${head}---\n${body}`;
  const withContent = async (files: Record<string, string>) => {
    const folder = mkdtempSync(join(tmpdir(), 'content-'));
    for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
    try {
      return await startService({ environment: { CONTENT_DIR: folder } });
    } finally {
      rmSync(folder, { recursive: true });
    }
  };

  test('shows the same text after every form if the file has no text for a form', async () => {
    const own = await withContent({ 'thank-you.md': page('', 'Wir haben es.\n') });
    for (const headers of [{}, { referer: `${own.url}/quote` }]) {
      const { text } = await thanked(headers, own);
      expect([headingOf(text), text.includes('Wir haben es.')]).toEqual(['Danke', true]);
    }
    await own.close();
  });

  test('shows its text for a form, also after a post from another page with that form', async () => {
    const after = 'after:\n  contact: { title: Gesendet, description: "An {{operator}}." }\n';
    const parts = '{{#contact}}\nGleich.\n{{/contact}}\n\n{{#any}}\nBald.\n{{/any}}\n';
    const own = await withContent({
      'thank-you.md': page(after, parts),
      'frage.md': page('form: contact\nsubmit: Senden\nuse: zur Antwort\n', ''),
      'words.yaml': 'sent: { at: "Um {time}", reference: "Zeichen:" }\n',
    });
    for (const path of ['/contact', '/frage']) {
      const { text } = await thanked({ referer: own.url + path }, own);
      expect([headingOf(text), text.includes('Gleich.'), text.includes('Bald.')]).toEqual(['Gesendet', true, false]);
      expect(text).toContain('<p class="lede">An Paint Match.</p>');
      expect(text).toMatch(/data-at="Um \{time\}"[\s\S]*Zeichen:/);
    }
    const { text } = await thanked({ referer: `${own.url}/quote` }, own);
    expect([headingOf(text), text.includes('Bald.')]).toEqual(['Danke', true]);
    await own.close();
  });

  test.each([
    ['after: { survey: { title: T, description: D } }\n', 'after: takes names of forms alone.'],
    ['after: { contact: { title: T } }\n', 'after.contact.description: is missing.'],
    ['after: { contact: { title: T, description: "{{colour}}" } }\n', 'content/ knows no placeholder {{colour}}.'],
  ])('is rejected at the start with %j', async (head, sentence) => {
    await expect(withContent({ 'thank-you.md': page(head, '') })).rejects.toThrow(
      `CONTENT_DIR: thank-you.md: thank-you.md: ${sentence}`.replace(/thank-you\.md: (content)/, '$1'),
    );
  });
});
