import { hash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import * as z from 'zod';
import { forms } from '../../src/forms/catalog.ts';
import { call, executeAction, previewAction } from '../support/agent.ts';
import { send } from '../support/mcp.ts';
import { type Service, startService } from '../support/service.ts';

let service: Service;
let without: Service;
beforeAll(async () => {
  service = await startService();
  without = await startService({ environment: { MCP: 'off' } });
});
afterAll(async () => {
  await service.close();
  await without.close();
});

const get = (path: string, from = service) => call(from, path, { method: 'GET' });
const json = async (path: string, from = service) => JSON.parse((await get(path, from)).text);

/** Returns every address of this deployment that a text contains. */
const addressesIn = (text: string, { url }: Service) => [
  ...new Set(text.match(new RegExp(`${url.replaceAll('.', '\\.')}[^\\s"<>)\`;,{]*`, 'g'))),
];

const DOCUMENTS = [
  '/.well-known/api-catalog',
  '/.well-known/agent-skills/index.json',
  '/.well-known/agent-skills/send-a-form/SKILL.md',
  '/agents/openapi.json',
  '/api/agent/manifest',
  '/llms.txt',
  '/.well-known/ard.json',
];
const CARD = '/mcp/server-card';

describe('catalogues of the service (reference §14.8)', () => {
  test.each([
    ['MCP=on', () => service, [...DOCUMENTS, CARD]],
    ['MCP=off', () => without, DOCUMENTS],
  ])('with %s, contain only absolute addresses that exist', async (_name, of, paths) => {
    for (const path of paths) {
      const { text } = await get(path, of());
      expect(text.match(/"(?:href|url|anchor)":"\/[^"]*"/g), path).toBeNull();
      for (const address of addressesIn(text, of())) {
        const { pathname } = new URL(address);
        const method =
          pathname === '/mcp' || pathname === '/mcp/open' || pathname.startsWith('/api/agent/actions') ? 'POST' : 'GET';
        if (pathname.startsWith('/api/agent/actions/') && !pathname.endsWith('e') && !pathname.endsWith('w')) continue;
        const { status } = await call(of(), pathname, { method });
        expect(status === 404, `${path} names ${pathname}`).toBe(false);
      }
    }
  });

  test('with MCP=off, do not mention MCP', async () => {
    expect((await get(CARD, without)).status).toBe(404);
    for (const path of DOCUMENTS) {
      expect((await get(path, without)).text, path).not.toMatch(/\/mcp(?!\.json)|ai-catalog/);
    }
  });

  test('/.well-known/api-catalog lists both OpenAPI documents, /agents and itself', async () => {
    const { linkset } = await json('/.well-known/api-catalog');
    expect(linkset[0]).toEqual({
      anchor: service.url,
      'service-desc': [
        { href: `${service.url}/agents/openapi.json`, type: 'application/json' },
        { href: `${service.url}/openapi.json`, type: 'application/json' },
      ],
      'service-doc': [{ href: `${service.url}/agents`, type: 'text/html' }],
    });
    for (const method of ['GET', 'HEAD']) {
      const { headers } = await call(service, '/.well-known/api-catalog', { method });
      expect(headers.get('link')).toBe(`<${service.url}/.well-known/api-catalog>; rel="api-catalog"`);
    }
  });

  test.each(['.json', '/anthropic.json', '/mcp.json', ''])(
    'the former address /agents/tools%s returns 404, as any unknown address does',
    async (rest) => {
      const { status, body } = await get(`/agents/tools${rest}`);
      expect([status, body]).toEqual([404, (await get('/agents/unknown')).body]);
    },
  );

  test('the start page links to the catalogues in its Link header', async () => {
    const link = (await get('/')).headers.get('link') ?? '';
    for (const [target, relation] of [
      ['/.well-known/api-catalog', 'api-catalog'],
      ['/.well-known/ard.json', 'ard'],
      ['/agents/openapi.json', 'service-desc'],
      ['/openapi.json', 'service-desc'],
      ['/agents', 'service-doc'],
      ['/index.md', 'alternate'],
    ]) {
      expect(link).toContain(`<${target}>; rel="${relation}"`);
    }
    expect((await get('/quote')).headers.get('link')).not.toContain('api-catalog');
  });
});

describe('announcements of the tools', () => {
  test('the server card matches server/discover and lists the supported revisions', async () => {
    const card = await json(CARD);
    const { body } = await send(service, 'server/discover');
    const said = body.result._meta['io.modelcontextprotocol/serverInfo'];
    expect(card).toMatchObject(said);
    expect(card.name).toMatch(/^[a-z0-9.-]+\/leads$/);
    expect(card.description.length).toBeLessThanOrEqual(100);
    const [remote, open, ...more] = card.remotes;
    expect([remote.url, open.url, more]).toEqual([`${service.url}/mcp`, `${service.url}/mcp/open`, []]);
    expect(open).not.toHaveProperty('headers');
    for (const { supportedProtocolVersions } of [remote, open]) {
      expect(supportedProtocolVersions).toEqual(['2026-07-28', '2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05']);
    }
  });

  test('the server card and llms.txt describe the address of a filled-in form', async () => {
    const example = `${service.url}/quote#name=Ada+Lovelace&email=ada%40example.com&postal_code=94110`;
    const { name, _meta } = await json(CARD);
    const described = _meta[`${name}-filled-in`];
    expect(described.example).toBe(example);
    expect(described.forms).toEqual(
      Object.values(forms).map((form) => ({
        form: form.name,
        page: `${service.url}/${form.page}`,
        fields: form.fields.map((field) => field.name),
      })),
    );
    for (const [from, count] of [
      [service, 1],
      [without, 0],
    ] as const) {
      const { text } = await get('/llms.txt', from);
      expect(text).toContain(example.replace(service.url, from.url));
      expect(text.split('/mcp/open').length - 1).toBe(count);
    }
  });

  test('the digest of the skill in its index matches the bytes of the skill', async () => {
    const { skills } = await json('/.well-known/agent-skills/index.json');
    const [{ name, url, digest }] = skills;
    const { text } = await get(new URL(url).pathname);
    expect(digest).toBe(`sha256:${hash('sha256', text)}`);
    expect(text).toMatch(new RegExp(`^---\nname: ${name}\ndescription: [^\n]+\n---\n`));
  });
});

describe('/agents/openapi.json', () => {
  test('has a path without parameters and a unique operationId for preview and execute of each action', async () => {
    const document = await json('/agents/openapi.json');
    expect([document.openapi, document.info.version]).toEqual(['3.1.1', '2026-09-01']);
    const wanted = Object.keys(forms).flatMap((name) => [
      `/api/agent/actions/${name}/preview`,
      `/api/agent/actions/${name}/execute`,
    ]);
    expect(Object.keys(document.paths)).toEqual(wanted);
    const operations = Object.values<Record<string, { operationId: string; parameters: { in: string }[] }>>(
      document.paths,
    ).flatMap((item) => Object.values(item));
    const ids = operations.map(({ operationId }) => operationId);
    expect(new Set(ids).size).toBe(wanted.length);
    for (const each of ids) expect(each).toMatch(/^[a-z_]{1,64}$/);
    for (const { parameters } of operations) {
      expect(parameters.every((each) => each.in === 'header')).toBe(true);
    }
    // References to steps use the names of this document.
    expect(JSON.stringify(document)).not.toMatch(/previewAction|executeAction|getManifest/);
  });

  test('describes the deployment and has the components of the whole document', async () => {
    const { paths: _, components, ...rest } = await json('/agents/openapi.json');
    const whole = await json('/openapi.json');
    expect(rest).toEqual({
      openapi: '3.1.1',
      info: {
        title: 'Paint Match: agent actions',
        description: expect.stringMatching(/preview, then, only after the user .* has explicitly agreed, execute\.$/),
        version: '2026-09-01',
        license: { name: 'MIT', identifier: 'MIT' },
      },
      externalDocs: { description: 'For AI assistants.', url: `${service.url}/agents` },
      servers: [{ url: service.url, description: 'This deployment.' }],
    });
    expect(whole.components).toMatchObject(components);
    expect(components.securitySchemes).toEqual(whole.components.securitySchemes);
  });

  test.each(Object.values(forms))('has the operations of the whole document for $name', async ({ name, purpose }) => {
    const document = await json('/agents/openapi.json');
    const whole = await json('/openapi.json');
    const named = (value: object) =>
      JSON.parse(
        JSON.stringify(value)
          .replaceAll('previewAction', `preview_${name}`)
          .replaceAll('executeAction', `execute_${name}`),
      );
    for (const step of ['preview', 'execute']) {
      const { post } = whole.paths[`/api/agent/actions/{action}/${step}`];
      const own = document.paths[`/api/agent/actions/${name}/${step}`].post;
      expect(own.summary).toBe(`${post.summary}: ${purpose}`);
      for (const member of ['description', 'security']) expect(own[member]).toEqual(named(post[member]));
      const { 200: done, ...failures } = own.responses;
      const { 200: wholeDone, 404: _, ...wholeFailures } = post.responses;
      expect(failures).toEqual(named(wholeFailures));
      expect(done.headers).toEqual(wholeDone.headers);
      // The path of this document has no parameter that the link to the second step could fill in.
      const { parameters: __, ...link } = named(wholeDone.links?.execute ?? {});
      expect(done.links?.execute ?? {}).toEqual(link);
    }
  });

  test('contains exactly the components that it refers to', async () => {
    const document = await json('/agents/openapi.json');
    const text = JSON.stringify(document);
    for (const section of ['schemas', 'headers']) {
      const referred = text.matchAll(new RegExp(`"#/components/${section}/([^"]+)"`, 'g'));
      const names = new Set([...referred].map(([, name]) => name));
      expect([...names].sort()).toEqual(Object.keys(document.components[section]).sort());
    }
  });

  test.each(Object.keys(forms))(
    'has an example of %s that the service accepts, and schemas that match the answers',
    async (name) => {
      const document = await json('/agents/openapi.json');
      const schemaOf = (schema: object) =>
        z.fromJSONSchema({
          ...JSON.parse(JSON.stringify(schema).replaceAll('#/components/schemas/', '#/$defs/')),
          $defs: JSON.parse(
            JSON.stringify(document.components.schemas).replaceAll('#/components/schemas/', '#/$defs/'),
          ),
        });
      const operation = document.paths[`/api/agent/actions/${name}/preview`].post;
      const media = operation.requestBody.content['application/json'];
      const { value } = media.examples[name];
      expect(schemaOf(media.schema).safeParse(value).success).toBe(true);
      const previewed = await previewAction(service, name, value);
      expect(previewed.status).toBe(200);
      const answer = operation.responses['200'].content['application/json'].schema;
      expect(schemaOf(answer).safeParse(previewed.body).success).toBe(true);
      const executed = await executeAction(service, previewed.body.preview_id, { action: name });
      const result = document.paths[`/api/agent/actions/${name}/execute`].post.responses['200'];
      expect(schemaOf(result.content['application/json'].schema).safeParse(executed.body).success).toBe(true);
    },
  );
});
