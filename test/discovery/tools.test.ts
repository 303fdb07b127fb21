import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { CONFIRMATION_STATEMENT } from '../../src/actions/confirmation-statement.ts';
import { forms } from '../../src/forms/catalog.ts';
import { type DiscoveryServer, facts, startDiscovery } from './discovery-server.ts';

// biome-ignore lint/suspicious/noExplicitAny: documents are walked by name, whatever they hold
type Json = any;

let server: DiscoveryServer;
let responses: Json[];
let chat: Json[];
let anthropic: Json[];
let mcp: Json[];
beforeAll(async () => {
  server = await startDiscovery();
  const shape = (name: string) => server.json(`/agents/tools/${name}.json`);
  responses = await shape('openai-responses');
  chat = await shape('openai-chat-completions');
  anthropic = await shape('anthropic');
  mcp = (await shape('mcp')).tools;
});
afterAll(() => server.close());

const everyForm = Object.values(forms);
const names = [...everyForm.map(({ name }) => `preview_${name}`), 'execute_action'];
const named = (tools: Json[], name: string) => tools.find((tool) => tool.name === name);

const execution = {
  action: 'contact',
  preview_id: 'payload.signature',
  confirmation: true,
  confirmation_text: CONFIRMATION_STATEMENT,
};

describe('every shape', () => {
  test('has one tool to preview each action, and one to execute', () => {
    for (const tools of [responses, chat.map((tool) => tool.function), anthropic, mcp]) {
      expect(tools.map(({ name }) => name)).toEqual(names);
    }
  });

  test('says when to use a tool, what comes back and which call is next, in 1,024 characters', () => {
    for (const { name, description } of anthropic) {
      expect(name).toMatch(/^[a-zA-Z0-9_-]{1,64}$/);
      expect(description).toMatch(/Use this (only )?(when|after) .+ It returns .+ Next/);
      expect(description.length).toBeLessThanOrEqual(1_024);
      expect(named(responses, name).description).toBe(description);
      expect(named(mcp, name).description).toBe(description);
    }
  });

  test('names who receives the data before anything is sent', () => {
    expect(named(mcp, 'preview_homeowner_quote').description).toContain('(Brush & Co)');
    expect(named(mcp, 'preview_contact').description).toContain('(Acme [Leads])');
  });

  test('executes with a confirmation and the exact statement alone', () => {
    for (const schema of [
      named(responses, 'execute_action').parameters,
      named(anthropic, 'execute_action').input_schema,
      named(mcp, 'execute_action').inputSchema,
    ]) {
      const input = z.fromJSONSchema(schema);
      expect(input.safeParse(execution).success).toBe(true);
      for (const wrong of [
        { ...execution, confirmation: false },
        { ...execution, confirmation_text: 'Yes' },
        { ...execution, action: 'survey' },
        { ...execution, recipient: 'me' },
      ]) {
        expect(input.safeParse(wrong).success).toBe(false);
      }
    }
  });
});

describe('the shapes of OpenAI', () => {
  test('are flat for Responses and nested for Chat Completions, and strict', () => {
    for (const [index, tool] of responses.entries()) {
      const { type, ...rest } = tool;
      expect(Object.keys(tool)).toEqual(['type', 'name', 'description', 'parameters', 'strict']);
      expect([type, tool.strict]).toEqual(['function', true]);
      expect(chat[index]).toEqual({ type: 'function', function: rest });
    }
  });

  test('hold only what strict mode takes: every property required, no others, no bounds', () => {
    const taken = new Set(['type', 'description', 'enum']);
    for (const { parameters } of responses) {
      expect(parameters.additionalProperties).toBe(false);
      expect(parameters.required).toEqual(Object.keys(parameters.properties));
      for (const property of Object.values<Json>(parameters.properties)) {
        for (const keyword of Object.keys(property)) expect(taken).toContain(keyword);
      }
    }
  });

  test.each(everyForm)(
    'let null stand for an optional field of $name, and say the bounds',
    (form) => {
      const { properties } = named(responses, `preview_${form.name}`).parameters;
      for (const field of form.fields) {
        const { type, description } = properties[field.name];
        expect(type).toEqual(field.required ? 'string' : ['string', 'null']);
        expect(description).toContain(`At most ${field.maximum} characters.`);
        for (const choice of field.choices ?? []) expect(description).toContain(choice);
      }
    },
  );
});

describe('the shapes of Anthropic and MCP', () => {
  test.each(everyForm)('take exactly what a preview of $name takes', (form) => {
    const example = Object.fromEntries(form.fields.map(({ name, example }) => [name, example]));
    const required = form.fields.filter((field) => field.required).map(({ name }) => name);
    for (const schema of [
      named(anthropic, `preview_${form.name}`).input_schema,
      named(mcp, `preview_${form.name}`).inputSchema,
    ]) {
      expect(schema.type).toBe('object');
      expect(schema.required).toEqual(required);
      const input = z.fromJSONSchema(schema);
      expect(input.safeParse(example).success).toBe(true);
      expect(input.safeParse({ ...example, recipient: 'me' }).success).toBe(false);
      for (const name of required) {
        const { [name]: _, ...rest } = example;
        expect(input.safeParse(rest).success).toBe(false);
      }
    }
  });

  test('have the names of each API and no others', () => {
    for (const tool of anthropic) {
      expect(Object.keys(tool)).toEqual(['name', 'description', 'input_schema']);
    }
    for (const tool of mcp) {
      expect(Object.keys(tool)).toEqual([
        'name',
        'title',
        'description',
        'inputSchema',
        'annotations',
      ]);
    }
  });

  test('hint that a preview only reads, and that an execution wants a person to be asked', () => {
    for (const { name, annotations } of mcp) {
      const sends = name === 'execute_action';
      expect(annotations).toEqual({
        title: expect.any(String),
        readOnlyHint: !sends,
        destructiveHint: sends,
        idempotentHint: true,
        openWorldHint: sends,
      });
    }
  });
});

test('the index names every shape and the request that each tool becomes', async () => {
  const index = await server.json('/agents/tools.json');
  const links = [...Object.values<string>(index.shapes), ...Object.values<string>(index.links)];
  expect(links).toHaveLength(7);
  for (const link of links) {
    expect((await server.get(link.replace(facts.baseUrl, ''))).status, link).toBe(200);
  }
  expect(Object.keys(index.calls)).toEqual(names);
  const { execute_action, ...previews } = index.calls;
  for (const [name, { url, scope }] of Object.entries<Json>(previews)) {
    const action = name.replace('preview_', '');
    expect(url).toBe(`${facts.baseUrl}/api/agent/actions/${action}/preview`);
    expect(scope).toBe('lead:preview');
  }
  expect(execute_action).toMatchObject({
    url: `${facts.baseUrl}/api/agent/actions/{action}/execute`,
    scope: 'lead:create',
    headers: { 'Idempotency-Key': expect.any(String) },
  });
});
