/** How clients of each revision declare MCP Apps, with the libraries of others and by hand (reference §8.12). */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { EXTENSION_ID, RESOURCE_MIME_TYPE } from '@modelcontextprotocol/ext-apps/server';
import { Client as OlderClient } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport as OlderTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { describe, expect, test } from 'vitest';
import { call, quote } from '../support/agent.ts';
import { previewByTool, toolNames } from '../support/mcp.ts';
import { scenario } from '../support/scenario.ts';
import { freshAddress, tokens } from '../support/service.ts';

const started = scenario({ MCP_ALLOWED_ORIGINS: 'https://host.example' });

const capabilities = { extensions: { [EXTENSION_ID]: { mimeTypes: [RESOURCE_MIME_TYPE] } } };
const info = { name: 'host', version: '1.0.0' };
const address = () => new URL(`${started.service.url}/mcp`);
const requestInit = () => ({
  headers: { authorization: `Bearer ${tokens.both}`, 'x-forwarded-for': freshAddress() },
});

/** Connects a host with the official library, by revision 2026-07-28 or an older one. */
async function newHost(mode: 'auto' | 'legacy', declared: object): Promise<Client> {
  const client = new Client(info, { versionNegotiation: { mode }, capabilities: declared });
  await client.connect(new StreamableHTTPClientTransport(address(), { requestInit: requestInit() }));
  return client;
}

describe.each(['auto', 'legacy'] as const)('@modelcontextprotocol/client, negotiation %s', (mode) => {
  test('reads the card that a preview tool names, and its buttons send once', async () => {
    const client = await newHost(mode, capabilities);
    expect(client.getServerCapabilities()).toMatchObject({ resources: {}, extensions: { [EXTENSION_ID]: {} } });
    const { tools } = await client.listTools();
    expect(tools).toHaveLength(toolNames.length + 1);
    const { resources } = await client.listResources();
    expect(resources.map(({ uri }) => ({ ui: { resourceUri: uri } }))).toEqual([tools[0]?._meta]);
    const { contents } = await client.readResource({ uri: resources[0]?.uri ?? '' });
    expect(contents[0]).toMatchObject({
      mimeType: RESOURCE_MIME_TYPE,
      text: expect.stringMatching(/^<!doctype html>/),
    });

    const { structuredContent, _meta } = await client.callTool({ name: 'preview_homeowner_quote', arguments: quote });
    expect(_meta).toMatchObject({ 'lead-intake/minimum': 'agent' });
    const { preview_id } = structuredContent as { preview_id: string };
    await started.expecting({ forwarded: 1, rows: 1 }, async () => {
      for (let n = 0; n < 2; n += 1) {
        const press = { name: 'submit_from_card', arguments: { preview_id, decision: 'send' } };
        expect((await client.callTool(press)).structuredContent).toMatchObject({ receipt: { status: 'submitted' } });
      }
    });
    await client.close();
  });

  test('does not list submit_from_card, and gets a tool error from it, if the host does not declare Apps', async () => {
    const client = await newHost(mode, {});
    expect((await client.listTools()).tools).toHaveLength(toolNames.length);
    const preview_id = await previewByTool(started.service);
    await started.expecting({}, async () => {
      const press = { name: 'submit_from_card', arguments: { preview_id, decision: 'send' } };
      expect((await client.callTool(press)).isError).toBe(true);
    });
    await client.close();
  });
});

test('@modelcontextprotocol/sdk 1.x sends from the card', async () => {
  const client = new OlderClient(info, { capabilities });
  // The library's types don't support exactOptionalPropertyTypes.
  await client.connect(new OlderTransport(address(), { requestInit: requestInit() }) as never);
  expect((await client.listTools()).tools).toHaveLength(toolNames.length + 1);
  const { structuredContent } = await client.callTool({ name: 'preview_homeowner_quote', arguments: quote });
  const { preview_id } = structuredContent as { preview_id: string };
  await started.expecting({ forwarded: 1, rows: 1 }, async () => {
    const press = { name: 'submit_from_card', arguments: { preview_id, decision: 'send' } };
    expect((await client.callTool(press)).structuredContent).toMatchObject({ receipt: { status: 'submitted' } });
  });
  await client.close();
});

describe('Mcp-Session-Id', () => {
  const post = (method: string, params: object, { path = '/mcp', ...headers }: Record<string, string> = {}) =>
    call(started.service, path, {
      headers: { authorization: `Bearer ${tokens.both}`, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
  const initialize = (declared: object, headers = {}, protocolVersion = '2025-11-25') =>
    post('initialize', { protocolVersion, capabilities: declared, clientInfo: info }, headers);
  const sessionOf = ({ headers }: Awaited<ReturnType<typeof call>>) => new Headers(headers).get('mcp-session-id');
  const REVISION = { 'mcp-protocol-version': '2025-11-25' };
  const toolsOf = async (headers: Record<string, string>) =>
    JSON.parse((await post('tools/list', {}, { ...REVISION, ...headers })).text.replace(/^[\s\S]*?data: /, '')).result
      .tools.length;

  test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'is a new one in each answer to initialize of revision %s, if the client declares Apps',
    async (revision) => {
      const first = sessionOf(await initialize(capabilities, {}, revision));
      expect(first).toMatch(/^apps-[\da-f-]{36}$/);
      expect(sessionOf(await initialize(capabilities, {}, revision))).not.toBe(first);
      expect(await toolsOf({ 'mcp-session-id': String(first) })).toBe(toolNames.length + 1);
    },
  );

  test('is absent for a client without Apps, on /mcp/open and in every other answer', async () => {
    const session = 'apps-00000000-0000-7000-8000-000000000000';
    for (const answer of [
      await initialize({}),
      await initialize({ elicitation: {} }),
      await initialize(capabilities, { path: '/mcp/open' }),
      await post('tools/list', { capabilities }, { ...REVISION, 'mcp-session-id': session }),
    ]) {
      expect(sessionOf(answer)).toBeNull();
    }
  });

  test.each(['', 'apps', 'apps-x', 'x-00000000-0000-7000-8000-000000000000'])(
    'that the service did not make declares nothing: %j',
    async (session) => expect(await toolsOf({ 'mcp-session-id': session })).toBe(toolNames.length),
  );

  test('may be sent and read by pages of allowed origins', async () => {
    const origin = 'https://host.example';
    const preflight = await call(started.service, '/mcp', {
      method: 'OPTIONS',
      headers: { origin, 'access-control-request-method': 'POST' },
    });
    const headers = new Headers(preflight.headers);
    expect(headers.get('access-control-allow-headers')).toContain('mcp-session-id');
    expect(headers.get('access-control-expose-headers')).toContain('mcp-session-id');
  });
});
