import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import type * as catalog from '../../src/forms/catalog.ts';
import type { DiscoveryServer } from './discovery-server.ts';

vi.mock('../../src/forms/catalog.ts', async (load) => {
  const actual = await load<typeof catalog>();
  const fifth = {
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
  return { ...actual, forms: { ...actual.forms, paint_advice: fifth } };
});

let server: DiscoveryServer;
beforeAll(async () => {
  // Files before this one have loaded the four forms, files after it must not see the fifth.
  vi.resetModules();
  const { startDiscovery } = await import('./discovery-server.ts');
  server = await startDiscovery();
});
afterAll(async () => {
  await server.close();
  vi.doUnmock('../../src/forms/catalog.ts');
  vi.resetModules();
});

test('a fifth form in the catalogue stands in the manifest', async () => {
  const { actions } = await server.json('/api/agent/manifest');
  const action = actions.find((each: { action: string }) => each.action === 'paint_advice');
  expect(action.purpose).toBe('Ask what to paint with');
  expect(action.optional_fields).toContain('wall');
  expect(action.fields.wall.max_length).toBe(77);
});

test('a fifth form in the catalogue stands in llms.txt', async () => {
  const text = await (await server.get('/llms.txt')).text();
  expect(text).toContain('- `paint_advice`: Ask what to paint with.');
});

test('a fifth form in the catalogue stands in every part of OpenAPI', async () => {
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

test('a fifth form in the catalogue is a tool, and stands in the reference', async () => {
  const tools = await server.json('/agents/tools/anthropic.json');
  const tool = tools.find((each: { name: string }) => each.name === 'preview_paint_advice');
  expect(tool.input_schema.properties.wall.maxLength).toBe(77);
  const execute = tools.find((each: { name: string }) => each.name === 'execute_action');
  expect(execute.input_schema.properties.action.enum).toContain('paint_advice');
  const reference = await (await server.get('/reference.md')).text();
  expect(reference).toContain('### PaintAdviceFields');
});
