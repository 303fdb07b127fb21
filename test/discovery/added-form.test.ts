import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type * as catalog from '../../src/forms/catalog.ts';
import type { DiscoveryServer } from './discovery-server.ts';

vi.mock('../../src/forms/catalog.ts', async (load) => {
  const actual = await load<typeof catalog>();
  const added = {
    ...actual.forms.contact,
    name: 'paint_advice',
    purpose: 'Ask what to paint with',
    fields: [
      ...actual.forms.contact.fields,
      {
        ...actual.forms.contact.fields[0],
        name: 'wall',
        required: false,
        maximum: 77,
        example: 'Brick',
      },
    ],
  };
  // The first form, because ard.json has the purposes of at most five forms.
  return { ...actual, forms: { paint_advice: added, ...actual.forms } };
});

let server: DiscoveryServer;
beforeAll(async () => {
  // Earlier test files have loaded the declared forms, and later ones must not see the added one.
  vi.resetModules();
  const { startDiscovery } = await import('./discovery-server.ts');
  server = await startDiscovery();
});
afterAll(async () => {
  await server.close();
  vi.doUnmock('../../src/forms/catalog.ts');
  vi.resetModules();
});

test('the manifest contains an added form if the form is declared in the catalogue', async () => {
  const { actions } = await server.json('/api/agent/manifest');
  const action = actions.find((each: { action: string }) => each.action === 'paint_advice');
  expect(action.purpose).toBe('Ask what to paint with');
  expect(action.optional_fields).toContain('wall');
  expect(action.fields.wall.max_length).toBe(77);
});

test('llms.txt contains an added form if the form is declared in the catalogue', async () => {
  const text = await (await server.get('/llms.txt')).text();
  expect(text).toContain('- `paint_advice`: Ask what to paint with.');
});

test('the queries of ard.json contain an added form if the form is declared in the catalogue', async () => {
  const { entries } = await server.json('/.well-known/ard.json');
  for (const { representativeQueries } of entries) expect(representativeQueries).toContain('Ask what to paint with');
});

test('every part of OpenAPI contains an added form if the form is declared in the catalogue', async () => {
  const { paths, components, webhooks } = await server.json('/openapi.json');
  for (const [path, schema] of [
    ['/api/agent/actions/{action}/preview', 'PaintAdviceFields'],
    ['/api/leads', 'PaintAdviceLead'],
  ] as const) {
    expect(components.schemas[schema].properties.wall.maxLength).toBe(77);
    const body = paths[path].post.requestBody.content['application/json'];
    expect(body.schema.anyOf).toContainEqual({ $ref: `#/components/schemas/${schema}` });
    expect(body.examples.paint_advice.value.wall).toBe('Brick');
  }
  const { parameters, responses } = paths['/api/agent/actions/{action}/preview'].post;
  expect(parameters[0].schema.enum).toContain('paint_advice');
  expect(responses['200'].content['application/json'].examples).toHaveProperty('paint_advice');
  const event = webhooks['lead.created'].post.requestBody.content['application/json'];
  expect(event.examples).toHaveProperty('paint_advice');
});

test('MCP tools and API reference contain an added form if the form is declared in the catalogue', async () => {
  const { toolDefinitions } = await import('../../src/mcp/tools.ts');
  const { facts } = await import('./discovery-server.ts');
  const tool = toolDefinitions(facts).find(({ name }) => name === 'preview_paint_advice');
  expect(tool?.inputSchema.properties).toHaveProperty('wall.maxLength', 77);
  const reference = await (await server.get('/reference.md')).text();
  expect(reference).toContain('### PaintAdviceFields');
});
