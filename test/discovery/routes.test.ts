import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { API_VERSION } from '../../src/discovery/deployment.ts';
import { bounds } from '../../src/forms/bounds.ts';
import { forms } from '../../src/forms/catalog.ts';
import { type DiscoveryServer, facts, startDiscovery } from './discovery-server.ts';

let server: DiscoveryServer;
beforeAll(async () => {
  server = await startDiscovery();
});
afterAll(() => server.close());

const documents = [
  ['/.well-known/service-agent.json', 'application/json; charset=utf-8'],
  ['/api/agent/manifest', 'application/json; charset=utf-8'],
  ['/api/agent/content', 'application/json; charset=utf-8'],
  ['/api/agent/content?resource=quote', 'application/json; charset=utf-8'],
  ['/llms.txt', 'text/plain; charset=utf-8'],
  ['/openapi.json', 'application/json; charset=utf-8'],
  ['/agents/openapi.json', 'application/json; charset=utf-8'],
  ['/.well-known/api-catalog', 'application/linkset+json; profile="https://www.rfc-editor.org/info/rfc9727"'],
  ['/.well-known/ard.json', 'application/json; charset=utf-8'],
  ['/mcp/server-card', 'application/mcp-server-card+json'],
  ['/.well-known/agent-skills/index.json', 'application/json; charset=utf-8'],
  ['/.well-known/agent-skills/send-a-form/SKILL.md', 'text/markdown; charset=utf-8'],
  ['/schemas/lead.created.json', 'application/schema+json; charset=utf-8'],
  ['/schemas/subscriber.created.json', 'application/schema+json; charset=utf-8'],
] as const;

describe('discovery documents', () => {
  test.each(documents)('%s is public, cacheable and readable by any origin', async (path, type) => {
    const response = await server.get(path);
    expect(response.status).toBe(200);
    expect(response.headers.get('content-type')).toBe(type);
    expect(response.headers.get('access-control-allow-origin')).toBe('*');
    expect(response.headers.get('cache-control')).toMatch(/^public/);
    expect(response.headers.get('etag')).toMatch(/^"[^"]+"$/);
  });

  test.each(documents)('%s returns 304 if If-None-Match has its ETag, and 200 for another ETag', async (path) => {
    const first = await server.get(path);
    const etag = first.headers.get('etag') ?? '';
    await first.arrayBuffer();
    const second = await server.get(path, { 'if-none-match': etag });
    expect(second.status).toBe(304);
    expect(second.headers.get('access-control-allow-origin')).toBe('*');
    expect(second.headers.get('etag')).toBe(etag);
    const length = first.headers.get('content-length');
    for (const [condition, status] of [
      [etag, 304],
      ['"other"', 200],
    ] as const) {
      const head = await server.get(path, { 'if-none-match': condition }, 'HEAD');
      // A Content-Length header, if present, must have the value of a 200 (RFC 9110 §8.6).
      expect([head.status, head.headers.get('content-length') ?? length]).toEqual([status, length]);
    }
    expect((await server.get(path, { 'if-none-match': '"other"' })).status).toBe(200);
  });

  test('link only to addresses that return 200', async () => {
    const texts = await Promise.all(
      ['/api/agent/manifest', '/llms.txt', '/api/agent/content'].map(async (path) => (await server.get(path)).text()),
    );
    const links = texts.flatMap((text) => linksIn(text));
    expect(links.length).toBeGreaterThan(30);
    for (const link of links) {
      const { origin, pathname } = new URL(link);
      expect(origin).toBe(facts.baseUrl);
      const method = /\/(preview|execute|mcp|open|connect)$/.test(pathname) ? 'POST' : 'GET';
      const found = await fetch(server.url + pathname, { method });
      expect(found.status, `${method} ${link}`).toBe(200);
      await found.arrayBuffer();
    }
  });

  test('manifest and llms.txt together have fewer than 2,200 tokens, and 450 for each form', async () => {
    const manifest = await (await server.get('/api/agent/manifest')).text();
    const llms = await (await server.get('/llms.txt')).text();
    expect(Math.ceil((manifest.length + llms.length) / 3.5)).toBeLessThan(2_200 + 450 * Object.keys(forms).length);
  });
});

describe('manifest', () => {
  test('is the same at /api/agent/manifest and /.well-known/service-agent.json', async () => {
    const wellKnown = await (await server.get('/.well-known/service-agent.json')).text();
    expect(await (await server.get('/api/agent/manifest')).text()).toBe(wellKnown);
  });

  test('contains the version, the statement, the scopes and the limits', async () => {
    const manifest = await server.json('/api/agent/manifest');
    expect(manifest.version).toBe(API_VERSION);
    expect(manifest.confirmation.statement).toBe(CONFIRMATION_STATEMENT);
    expect(manifest.authentication.scheme).toBe('bearer');
    expect(Object.keys(manifest.authentication.scopes)).toEqual(['lead:preview', 'lead:create']);
    expect(manifest.limits.preview_lifetime_seconds).toBe(600);
    expect(manifest.limits.receipt_retention_days).toBe(facts.receiptRetentionDays);
    for (const [name, { limit, windowSeconds }] of Object.entries(bounds.rates)) {
      expect(manifest.limits.rates_per_client_address[name]).toEqual({
        limit,
        window_seconds: windowSeconds,
      });
    }
  });

  test.each(Object.values(forms))('lists $name with its fields, limits and endpoints', async (form) => {
    const manifest = await server.json('/api/agent/manifest');
    const action = manifest.actions.find((each: { action: string }) => each.action === form.name);
    expect(action).toMatchObject({
      audience: form.audience,
      purpose: form.purpose,
      destination: form.receivedBy === 'contractor' ? facts.contractorName : facts.operatorName,
      preview: { method: 'POST', url: `${facts.baseUrl}/api/agent/actions/${form.name}/preview` },
      execute: { method: 'POST', url: `${facts.baseUrl}/api/agent/actions/${form.name}/execute` },
    });
    expect(action.required_fields).toEqual(namesOf(form, true));
    expect(action.optional_fields).toEqual(namesOf(form, false));
    for (const field of form.fields) {
      expect(action.fields[field.name].max_length).toBe(field.maximum);
    }
  });
});

describe('GET /api/agent/content', () => {
  test('lists every page except the thank-you page', async () => {
    const index = await server.json('/api/agent/content');
    expect(index.version).toBe(API_VERSION);
    const ids = index.resources.map((resource: { id: string }) => resource.id);
    const formPages = Object.values(forms).map(({ page }) => page);
    expect(ids.toSorted()).toEqual(
      ['agents', 'embed', 'index', 'privacy', 'receipts', 'receivers', ...formPages].toSorted(),
    );
    expect(index.resources[0]).toEqual({
      id: 'index',
      title: expect.any(String),
      description: expect.any(String),
      url: `${facts.baseUrl}/`,
      markdown_url: `${facts.baseUrl}/index.md`,
    });
  });

  test('returns each resource with the same Markdown as its .md address', async () => {
    const index = await server.json('/api/agent/content');
    for (const { id, title, description, url, markdown_url } of index.resources) {
      const resource = await server.json(`/api/agent/content?resource=${id}`);
      const mirror = await (await server.get(new URL(markdown_url).pathname)).text();
      expect(resource).toEqual({ id, title, description, url, markdown: mirror });
    }
  });

  test('uses the last one if the query has several `resource` parameters', async () => {
    const { id } = await server.json('/api/agent/content?resource=quote&resource=contact');
    expect(id).toBe('contact');
    const last = await server.get('/api/agent/content?resource=quote&resource=nothing');
    expect(last.status).toBe(404);
  });

  test.each(['nothing', '', '__proto__', 'thank-you', '/quote', 'quote.md'])(
    'returns 404 for the unknown resource %j, and the error names the call that lists the resources',
    async (id) => {
      const response = await server.get(`/api/agent/content?resource=${encodeURIComponent(id)}`);
      expect(response.status).toBe(404);
      expect(response.headers.get('access-control-allow-origin')).toBe('*');
      expect(await response.json()).toEqual({
        error: 'There is no such resource. GET /api/agent/content lists the resources.',
      });
    },
  );
});

describe('llms.txt', () => {
  test('names the addresses of the tools as code, in no link', async () => {
    const text = await (await server.get('/llms.txt')).text();
    for (const path of ['/mcp', '/mcp/open', '/connect']) {
      expect(text).toContain(`\`${facts.baseUrl}${path}\``);
      expect(text).not.toContain(`(${facts.baseUrl}${path})`);
    }
  });

  test('has a heading, a summary, notes without headings, then sections that contain only links', async () => {
    const text = await (await server.get('/llms.txt')).text();
    const [head = '', ...sections] = text.split(/^## /m);
    const [title, blank, summary, ...notes] = head.split('\n');
    expect(title).toBe('# Acme \\[Leads\\]');
    expect(blank).toBe('');
    expect(summary).toMatch(/^> \S/);
    expect(notes.some((line) => line.startsWith('#'))).toBe(false);
    expect(sections.length).toBeGreaterThan(1);
    for (const section of sections) {
      const [name, ...lines] = section.trim().split('\n');
      expect(name).toMatch(/^\w/);
      for (const line of lines.filter((each) => each !== '')) {
        expect(line).toMatch(/^- \[.+\]\(https:\/\/[^\s()]+\): \S/);
      }
    }
  });

  test('links to the .md address of every resource and names every action', async () => {
    const text = await (await server.get('/llms.txt')).text();
    const { resources } = await server.json('/api/agent/content');
    for (const { markdown_url } of resources) expect(text).toContain(`(${markdown_url})`);
    for (const form of Object.values(forms)) expect(text).toContain(`\`${form.name}\``);
  });
});

function linksIn(text: string): string[] {
  return text.match(/https?:\/\/[^\s"'()`]+/g)?.map((link) => link.replace(/[.,;]$/, '')) ?? [];
}

function namesOf(form: (typeof forms)[keyof typeof forms], required: boolean): string[] {
  return form.fields.filter((field) => field.required === required).map((field) => field.name);
}
