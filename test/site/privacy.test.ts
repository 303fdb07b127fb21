/** Checks the promises of /privacy on a running process. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, call, executeAction, previewId, quote } from '../support/agent.ts';
import { formPages } from '../support/forms.ts';
import { type ServiceProcess, startProcess, temporaryFolder } from '../support/process.ts';

/** Preload that prints every outgoing socket before it connects. */
const WATCH = `
  import { subscribe } from 'node:diagnostics_channel';
  const say = (kind) => () => process.stderr.write('OUTGOING ' + kind + '\\n');
  subscribe('net.client.socket', say('tcp'));
  subscribe('udp.socket', say('udp'));
`;

const paths = [
  ...['/', ...formPages, '/agents', '/privacy', '/thank-you'],
  ...['/receivers', '/receipts', '/reference', '/index.md', '/reference.md', '/llms.txt'],
  ...['/openapi.json', '/sitemap.xml', '/robots.txt', '/favicon.ico', '/agents/openapi.json'],
  ...['/.well-known/service-agent.json', '/.well-known/security.txt', '/api/agent/content'],
  ...['/schemas/lead.created.json', '/healthz', '/readyz', '/nothing', '/%', '/api/leads'],
];
const HTML = { accept: 'text/html' };
const NATIVE = { ...HTML, 'content-type': 'application/x-www-form-urlencoded' };

let service: ServiceProcess;
let pages: Answer[];
const answers: Answer[] = [];

beforeAll(async () => {
  const preload = join(temporaryFolder(), 'watch.mjs');
  writeFileSync(preload, WATCH);
  service = await startProcess({
    preload: [preload],
    environment: {
      OPERATOR_CONTACT: 'help@paint.example',
      RECEIPT_RETENTION_DAYS: '77',
      SUBMISSION_RETENTION_DAYS: '44',
    },
  });
  for (const path of paths) {
    const first = await call(service, path, { method: 'GET', headers: HTML });
    const etag = first.headers.get('etag');
    answers.push(first);
    if (etag !== null) {
      const headers = { ...HTML, 'if-none-match': etag };
      answers.push(await call(service, path, { method: 'GET', headers }));
    }
  }
  pages = answers.filter(({ text }) => text.startsWith('<!doctype html>'));
  const lead = new URLSearchParams({ form: 'homeowner_quote', ...quote }).toString();
  const subscription = 'email=ada%40example.com&privacy=yes';
  answers.push(
    await call(service, '/api/leads', { headers: NATIVE, body: lead }),
    await call(service, '/api/leads', { headers: NATIVE, body: 'form=contact&name=Ada' }),
    await call(service, '/api/leads', { body: JSON.stringify(quote) }),
    await call(service, '/api/subscribe', { headers: NATIVE, body: subscription }),
    await call(service, '/quote', { method: 'DELETE' }),
    await executeAction(service, await previewId(service)),
    await executeAction(service, 'no preview'),
  );
});
afterAll(() => service.end());

test('the service sets no cookie in any answer', () => {
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200, 302, 303, 304, 400, 404, 405]));
  for (const { headers } of answers) expect(headers.getSetCookie()).toEqual([]);
});

test('the service opens no outgoing connection with the embedded inbox', async () => {
  // A service with an HTTP upstream shows that the preload reports calls.
  expect(service.stderr()).not.toContain('OUTGOING');
  const other = await startProcess({
    preload: [join(service.dataDir, 'watch.mjs')].map((path) => {
      writeFileSync(path, WATCH);
      return path;
    }),
    environment: { UPSTREAM_URL: 'http://127.0.0.1:1/' },
  });
  const lead = JSON.stringify({ form: 'homeowner_quote', ...quote });
  const headers = { 'content-type': 'application/json' };
  expect((await call(other, '/api/leads', { headers, body: lead })).status).toBe(502);
  await other.end();
  expect(other.stderr()).toContain('OUTGOING tcp');
});

describe('page', () => {
  test('loads content from this site only and sends data to this site only', () => {
    expect(pages.length).toBeGreaterThan(10);
    for (const { text, headers } of pages) {
      const loaded = [
        ...text.matchAll(/<(?:script|img|form|iframe)\b[^>]*\s(?:src|action)="([^"]*)"/g),
        ...text.matchAll(/<link rel="(?:stylesheet|icon|preload)"[^>]*\shref="([^"]*)"/g),
      ].map(([, address]) => address);
      expect(loaded.length).toBeGreaterThan(0);
      for (const address of loaded) expect(address).toMatch(/^\/(?!\/)/);
      const policy = headers.get('content-security-policy') ?? '';
      expect(policy).toContain("default-src 'none'");
      const inline = / 'sha256-[\w+/]{43}='/g;
      expect(policy.match(inline)).toHaveLength(3);
      const rest = policy.replaceAll(inline, '').replaceAll("'self'", '').replaceAll("'none'", '');
      expect(rest).not.toMatch(/[*:']/);
    }
  });

  test('has only scripts that call no other site and store only values for the next page', async () => {
    const assets = new Set(pages.flatMap(({ text }) => text.match(/\/assets\/[^"]+/g) ?? []));
    expect(assets.size).toBeGreaterThan(2);
    for (const path of assets) {
      const { text } = await call(service, path, { method: 'GET' });
      const code = text.replaceAll('http://www.w3.org/2000/svg', '');
      expect(code).not.toMatch(/https?:|url\(|@import/);
      expect(code).not.toMatch(/cookie|localStorage|indexedDB|sendBeacon|caches\./i);
      const stored = code.match(/sessionStorage\.\w+/g) ?? [];
      const may = path.includes('/form-')
        ? ['sessionStorage.setItem']
        : ['sessionStorage.getItem', 'sessionStorage.removeItem'];
      expect(stored, path).toEqual(/\/(form|sent)-/.test(path) ? may : []);
    }
  });
});

test('/privacy states retention periods and the contact, and contains no command', async () => {
  const { text } = await call(service, '/privacy.md', { method: 'GET' });
  expect(text).toContain('| 77 days |');
  expect(text).toContain('44 days after delivery');
  expect(text).toContain('help@paint.example');
  expect(text).toMatch(/\*\*A test by the maker of an assistant:\*\*.* \| One day \|/);
  expect(text).toContain('deletes everything that this site stores under that address');
  expect(text).not.toContain('npm run');
});

test('logs no entered value and no client address', () => {
  const logs = service.stdout() + service.stderr();
  expect(logs).toContain('"route":"/api/leads"');
  expect(logs).not.toMatch(/Lovelace|ada@|94110|"10\.\d+\.\d+\.\d+"/);
});
