/** Programs of others against the real process, which is killed and restarted between calls. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { quote } from '../support/agent.ts';
import { freePort } from '../support/free-port.ts';
import { callTool, confirmed, toolNames } from '../support/mcp.ts';
import { type ServiceProcess, startProcess, temporaryFolder } from '../support/process.ts';
import { tokens } from '../support/service.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { entryOf, runProgram, runScript } from './program.ts';

let upstream: ProgrammableUpstream;
let service: ServiceProcess;

beforeAll(async () => {
  upstream = await startUpstream();
  service = await startProcess({ environment: { UPSTREAM_URL: upstream.url } });
});
afterEach(() => {
  upstream.delivered.length = 0;
});
afterAll(async () => {
  await service.end();
  await upstream.close();
});

const address = () => `${service.url}/mcp`;
const deliveries = () => upstream.delivered.map(({ event }) => event.data.fields);

/** Kills the service with SIGKILL and starts it again on the same data. */
async function killAndStart(): Promise<void> {
  const { port, dataDir } = service;
  await service.end();
  service = await startProcess({ port, dataDir, environment: { UPSTREAM_URL: upstream.url } });
}

type Call = (tool: string, input: object) => Promise<Record<string, never>>;

/** Previews, submits twice with a crash before each submit, and checks for one delivery and one receipt. */
async function sendOnce(call: Call): Promise<void> {
  const { preview_id, fields } = await call('preview_homeowner_quote', quote);
  expect(fields).toEqual(quote);
  await killAndStart();
  const first = await call('submit', confirmed(String(preview_id)));
  await killAndStart();
  const again = await call('submit', confirmed(String(preview_id)));
  expect(again).toEqual({ ...first, replay: true });
  expect(deliveries()).toEqual([quote]);
}

test('submit delivers once if the service is killed during the delivery and the client repeats the call', async () => {
  const call = (tool: string, input: object) => callTool(service, tool, input);
  const { structuredContent } = await call('preview_homeowner_quote', quote);
  const input = confirmed(structuredContent.preview_id);
  const received = new Promise<void>((resolve) => {
    upstream.answer = () => resolve();
  });
  const lost = call('submit', input).catch(() => 'lost');
  await received;
  await killAndStart();
  expect(await lost).toBe('lost');
  upstream.answer = (response) => response.writeHead(200).end();
  const again = await call('submit', input);
  expect(JSON.stringify(again.content)).toMatch(/in progress|could not confirm/);
  expect(deliveries()).toEqual([quote]);
});

const bearer = `Bearer ${tokens.both}`;

test('the command line of the MCP Inspector sends once, although the service is killed between calls', async () => {
  await sendOnce(async (tool, input) => {
    const argv = ['--cli', address(), '--transport', 'http', '--header', `Authorization: ${bearer}`];
    const { stdout } = await runProgram('@modelcontextprotocol/inspector', 'mcp-inspector', [
      ...[...argv, '--method', 'tools/call', '--tool-name', tool, '--format', 'json'],
      ...['--tool-args-json', JSON.stringify(input)],
    ]);
    return JSON.parse(stdout).result.structuredContent;
  });
});

test('mcporter sends once, although the service is killed between calls', async () => {
  const config = join(temporaryFolder(), 'mcporter.json');
  const headers = { Authorization: bearer };
  const leads = { baseUrl: address(), headers };
  writeFileSync(config, JSON.stringify({ mcpServers: { leads } }));
  await sendOnce(async (tool, input) => {
    const { stdout } = await runProgram('mcporter', 'mcporter', [
      ...['--config', config, 'call', `leads.${tool}`],
      ...['--args', JSON.stringify(input), '--output', 'json'],
    ]);
    return JSON.parse(stdout);
  });
});

describe('client over stdio', () => {
  async function overStdio(argv: string[], environment: Record<string, string> = {}) {
    const client = new Client({ name: 'host', version: '1.0.0' });
    const env = { PATH: process.env.PATH ?? '', HOME: temporaryFolder(), ...environment };
    const command = process.execPath;
    await client.connect(new StdioClientTransport({ command, args: argv, env, stderr: 'ignore' }));
    return client;
  }

  test('sends once through mcp-remote, although the service is killed between calls', async () => {
    const entry = entryOf('mcp-remote', 'mcp-remote');
    const client = await overStdio(
      // biome-ignore lint/suspicious/noTemplateCurlyInString: the program fills it in
      [entry, address(), '--allow-http', '--header', 'Authorization:${AUTHORIZATION}'],
      { AUTHORIZATION: bearer },
    );
    await sendOnce(async (name, input) => {
      const result = await client.callTool({ name, arguments: { ...input } });
      return result.structuredContent as Record<string, never>;
    });
    await client.close();
  });

  test('sends once through openapi-mcp-server, which creates tools from /agents/openapi.json', async () => {
    const client = await overStdio([
      entryOf('@ivotoby/openapi-mcp-server', 'openapi-mcp-server'),
      ...['--transport', 'stdio', '--disable-abbreviation', 'true'],
      ...['--openapi-spec', `${service.url}/agents/openapi.json`, '--api-base-url', service.url],
      ...['--headers', `Authorization:${bearer}`],
    ]);
    expect((await client.listTools()).tools).toHaveLength(toolNames.length + 1);
    await sendOnce(async (tool, input) => {
      const sends = tool === 'submit';
      const { content } = await client.callTool({
        name: sends ? 'execute-homeowner-quote' : 'preview-homeowner-quote',
        arguments: { ...input, ...(sends ? { 'Idempotency-Key': 'one-request' } : {}) },
      });
      return JSON.parse((content as { text: string }[])[0]?.text ?? '');
    });
    await client.close();
  });
});

test('mcp-remote connects with OAuth and sends once, although the service is killed between calls', async () => {
  const home = temporaryFolder();
  const information = { client_id: 'acme', client_secret: tokens.both };
  // Without a port, the program calculates one from the address of the service, and ends if it is taken.
  const argv = [
    ...[entryOf('mcp-remote', 'mcp-remote'), `${service.url}/connect`, String(await freePort()), '--allow-http'],
    ...['--static-oauth-client-info', JSON.stringify(information)],
  ];
  // No browser is on this path, so the program writes the address of the page.
  const env = { PATH: home, HOME: home, MCP_REMOTE_CONFIG_DIR: home };
  const transport = new StdioClientTransport({ command: process.execPath, args: argv, env, stderr: 'pipe' });
  let written = '';
  transport.stderr?.on('data', (chunk: Buffer) => {
    written += chunk.toString();
  });
  const client = new Client({ name: 'host', version: '1.0.0' });
  const connecting = client.connect(transport);
  const page = () => /http:\/\/\S+\/oauth\/authorize\?\S+(?=\s)/.exec(written)?.[0];
  await until(() => page() !== undefined);
  const headers = { 'sec-fetch-site': 'same-origin' };
  const body = new URLSearchParams({ do: 'connect' });
  const sent = await fetch(page() ?? '', { method: 'POST', redirect: 'manual', headers, body });
  // The program opens its own port after it has written the address.
  const back = sent.headers.get('location') ?? '';
  await until(() =>
    fetch(back).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  await connecting;
  await sendOnce(async (name, input) => {
    const result = await client.callTool({ name, arguments: { ...input } });
    return result.structuredContent as Record<string, never>;
  });
  await client.close();
});

describe('AI SDK with a scripted model', () => {
  const run = async (...person: string[]) => {
    const { stdout, stderr } = await runScript('ai-sdk.js', [address(), tokens.both, ...person]);
    expect(stderr).toBe('');
    return JSON.parse(stdout);
  };

  test('sends once after the model repeats the statement if the host supports no forms', async () => {
    const { asked, results } = await run();
    expect([asked, results]).toHaveLength(2);
    expect(deliveries()).toEqual([quote]);
    expect(JSON.stringify(results.at(-1))).toContain('submitted');
  });

  test('shows one form, and sends once after the user accepts the form', async () => {
    const { asked } = await run('accept');
    expect(asked).toEqual([expect.stringContaining('"Ada Lovelace"')]);
    expect(deliveries()).toEqual([quote]);
  });

  test.each([
    ['decline', 1],
    ['cancel', 2],
  ])('sends nothing after the form answer %s, although the model repeats the statement', async (answer, times) => {
    const { asked, results } = await run(answer);
    expect(asked).toHaveLength(times);
    expect(JSON.stringify(results)).toContain('othing was sent');
    expect(deliveries()).toEqual([]);
  });
});
