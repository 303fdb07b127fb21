/** Runs the commands of the served /agents page as a reader copies them, and compares the answers that the page shows. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { load } from 'js-yaml';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { selectPart } from '../../src/site/placeholders.ts';
import { call, quote } from '../support/agent.ts';
import { toolNames } from '../support/mcp.ts';
import { type Ran, ranToTheEnd } from '../support/ran.ts';
import { freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let upstream: ProgrammableUpstream;
let service: Service;
let blocks: { language: string; label: string; code: string }[];
let folder: string;

beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({ environment: { NODE_ENV: '', UPSTREAM_URL: upstream.url } });
  const { text } = await call(service, '/agents.md', { method: 'GET' });
  blocks = [...text.matchAll(/^```(\w+)([^\n]*)\n([\s\S]*?)^```$/gm)].map(
    ([, language = '', label = '', code = '']) => ({ language, label: label.trim(), code }),
  );
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});
beforeEach(() => {
  upstream.answer = answering(200);
  upstream.delivered = [];
  folder = mkdtempSync(join(tmpdir(), 'agents-page-'));
  mkdirSync(join(folder, 'data'));
  writeFileSync(join(folder, 'data/agent-token'), `${tokens.both}\n`);
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const codeIn = (label: string) => blocks.filter((block) => block.label === label).map(({ code }) => code);
/** Joins both parts of a program, which go into one file. */
const programIn = (label: string) => codeIn(label).join('\n');
/** Returns the answers that the page shows, in order. */
const shown = () => blocks.filter(({ label }) => label.startsWith('answer'));

/** Replaces values that differ in each run: tokens, ids, times and secrets. */
function withoutWhatChanges(answer: unknown): unknown {
  const text = JSON.stringify(answer)
    .replace(/"[\w-]+\.[\w-]+"/g, '"<token>"')
    .replace(/"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g, '"<id>"')
    .replace(/"\d{4}-\d\d-\d\dT[\d:.]{12}Z"/g, '"<time>"')
    .replace(/\/confirm\/[\w-]+"/g, '/confirm/<secret>"');
  return JSON.parse(text);
}

function run(command: string, args: string[], input = '', token: string = tokens.both): Promise<Ran> {
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', TOKEN: token },
  });
  child.stdin.end(input);
  return ranToTheEnd(child);
}

/** Checks that the upstream got exactly one event, the one of this receipt. */
function expectDelivered(receipt: { action_id: string; status: string }): void {
  expect(receipt.status).toBe('submitted');
  expect(upstream.delivered.map(({ event }) => event.data)).toEqual([
    expect.objectContaining({ id: receipt.action_id, form: 'homeowner_quote', fields: quote }),
  ]);
}

test('the curl commands read the credential, preview, execute and replay, with the answers that the page shows', async () => {
  const [credential = ''] = codeIn('');
  const [preview = '', execute = '', , ...more] = codeIn('curl');
  expect(more).toEqual([]);
  const again = execute.slice(execute.indexOf('curl'));
  const script = `set -eu\n${credential}${preview}${execute}${again}`;
  writeFileSync(join(folder, 'agent.sh'), script);
  const { status, stdout, stderr } = await run('bash', ['agent.sh']);
  expect([status, stderr]).toEqual([0, '']);
  const [previewed = '', executed = '', replayed = ''] = stdout.trim().split('\n');
  expect(JSON.parse(previewed)).toMatchObject({ ok: true, fields: quote });
  expectDelivered(JSON.parse(executed).receipt);
  expect(JSON.parse(replayed)).toEqual({ ...JSON.parse(executed), replay: true });
  const [first, second] = shown();
  expect([first?.label, second?.label]).toEqual(['answer 200', 'answer 200']);
  for (const [code, answered] of [
    [first?.code, previewed],
    [second?.code, executed],
  ]) {
    const parsed = [JSON.parse(code ?? ''), JSON.parse(answered ?? '')].map(withoutWhatChanges);
    expect(JSON.stringify(parsed[0])).toBe(JSON.stringify(parsed[1]));
  }
});

test('the curl command for a confirmation, pasted after the others, gets the answer that the page shows', async () => {
  const [credential = ''] = codeIn('');
  const [preview = '', execute = '', ask = ''] = codeIn('curl');
  const written = ask.replace(`curl -sS -w '\\n'`, `curl -sS -w '\\n%{http_code}\\n'`);
  writeFileSync(join(folder, 'agent.sh'), `set -eu\n${credential}${preview}${execute}${written}`);
  const { status, stdout, stderr } = await run('bash', ['agent.sh']);
  expect([status, stderr]).toEqual([0, '']);
  const [, , answered = '', code] = stdout.trim().split('\n');
  const page = shown()[2];
  expect(page?.label).toBe(`answer ${code}`);
  const parsed = [page?.code ?? '', answered].map((text) => withoutWhatChanges(JSON.parse(text)));
  expect(parsed[0]).toEqual(parsed[1]);
  expect(JSON.stringify(parsed[0])).toContain(`${service.url}/confirm/<secret>`);
  expect(upstream.delivered).toHaveLength(1);
});

const programs = [
  ['JavaScript', 'agent.mjs', process.execPath],
  ['Python', 'agent.py', 'python3'],
] as const;

test.each(programs)('the %s program shows the preview and executes after a yes', async (language, file, command) => {
  writeFileSync(join(folder, file), programIn(language));
  const { status, stdout, stderr } = await run(command, [file], 'yes\n');
  expect([status, stderr]).toEqual([0, '']);
  expect(stdout).toContain('This goes to Vetted Painters. I confirm that');
  expectDelivered(JSON.parse(/\{"action_id".*\}/.exec(stdout)?.[0] ?? ''));
});

test.each(programs)(
  'the %s program gets a receipt with a sandbox token, and sends nothing',
  async (language, file, command) => {
    writeFileSync(join(folder, file), programIn(language));
    const { status, stdout, stderr } = await run(command, [file], 'yes\n', tokens.sandbox);
    expect([status, stderr]).toEqual([0, '']);
    expect(JSON.parse(/\{"action_id".*\}/.exec(stdout)?.[0] ?? '').status).toBe('submitted');
    expect(upstream.delivered).toEqual([]);
  },
);

test.each(programs)('the %s program sends nothing without a yes', async (language, file, command) => {
  writeFileSync(join(folder, file), programIn(language));
  const { status, stderr } = await run(command, [file], 'no\n');
  expect(status).toBe(1);
  expect(stderr).toContain('There was no yes, so nothing was sent.');
  expect(upstream.delivered).toEqual([]);
});

test.each(programs)(
  'the %s program prints the error of the service and exits with 1',
  async (language, file, command) => {
    const code = programIn(language).replace('94110', '');
    writeFileSync(join(folder, file), code);
    const { status, stderr } = await run(command, [file], 'yes\n');
    expect(status).toBe(1);
    expect(stderr).toContain('400: postal_code is missing.');
  },
);

const HOSTS = ['sh Claude Code', 'sh Codex', 'json Cursor', 'json VS Code', 'json Gemini CLI', 'yaml LibreChat'];

test('/agents contains only code blocks that these tests run', () => {
  const step = ['sh curl', 'js JavaScript', 'python Python', 'json answer 200'];
  expect(blocks.map(({ language, label }) => `${language} ${label}`.trim())).toEqual([
    ...HOSTS,
    'sh',
    ...step,
    ...step,
    'sh curl',
    'json answer 201',
    'sh',
    'sh',
  ]);
});

test.each([
  ['Test in a sandbox', '/reference#sandbox'],
  ['When something goes wrong', '/reference#error-codes'],
  ['Versions and changes', '/reference#versions-and-changes'],
])('/agents has the section “%s”, which links to %s', async (heading, address) => {
  const { text } = await call(service, '/agents.md', { method: 'GET' });
  const [, section = ''] = text.split(`\n## ${heading}\n`);
  expect(section.split('\n## ', 1)[0]).toContain(`${address})`);
  const [path = '', anchor] = address.split('#');
  expect((await call(service, path, { method: 'GET' })).text).toContain(` id="${anchor}"`);
});

describe('/agents, Model Context Protocol', () => {
  type Server = { url?: string; httpUrl?: string; type?: string; headers: { Authorization: string } };
  /** Returns the only server of a host's setting. */
  const serverOf = (setting: { mcpServers?: Record<string, Server>; servers?: Record<string, Server> }): Server => {
    const [server, ...more] = Object.values(setting.mcpServers ?? setting.servers ?? {});
    if (server === undefined || more.length > 0) throw new Error('not exactly one server');
    return server;
  };
  /** Reads the address and the header that a host sends from its setting, as the host reads them. */
  const readers: Readonly<Record<string, (code: string) => { url: string | undefined; authorization: string }>> = {
    'Claude Code': (code) => {
      const [, url, authorization = ''] =
        /^claude mcp add --transport http leads (\S+) --header "Authorization: (.*)"\n$/.exec(code) ?? [];
      return { url, authorization };
    },
    Codex: (code) => {
      const [, url, variable] = /^codex mcp add leads --url (\S+) --bearer-token-env-var (\w+)\n$/.exec(code) ?? [];
      return { url, authorization: `Bearer $${variable}` };
    },
    Cursor: (code) => {
      const { url, headers } = serverOf(JSON.parse(code));
      return { url, authorization: headers.Authorization };
    },
    'VS Code': (code) => {
      const setting = JSON.parse(code);
      expect(setting.inputs).toMatchObject([{ id: 'token', password: true }]);
      const { type, url, headers } = serverOf(setting);
      expect(type).toBe('http');
      return { url, authorization: headers.Authorization };
    },
    'Gemini CLI': (code) => {
      const { httpUrl: url, headers } = serverOf(JSON.parse(code));
      return { url, authorization: headers.Authorization };
    },
    LibreChat: (code) => {
      const { type, url, headers } = serverOf(load(code) as Parameters<typeof serverOf>[0]);
      expect(type).toBe('streamable-http');
      return { url, authorization: headers.Authorization };
    },
  };

  test.each(Object.keys(readers))('connects %s with its setting and the token', async (host) => {
    expect(HOSTS.map((each) => each.replace(/^\w+ /, ''))).toContain(host);
    const [code = ''] = codeIn(host);
    const { url = '', authorization } = readers[host]?.(code) ?? { authorization: '' };
    expect(url).toBe(`${service.url}/mcp`);
    const sent = authorization.replace(/\$(TOKEN|\{(env:TOKEN|input:token|TOKEN)\})$/, tokens.both);
    expect(sent).toBe(`Bearer ${tokens.both}`);
    const client = new Client({ name: host, version: '1.0.0' });
    const requestInit = { headers: { authorization: sent, 'x-forwarded-for': freshAddress() } };
    await client.connect(new StreamableHTTPClientTransport(new URL(url), { requestInit }));
    expect((await client.listTools()).tools).toHaveLength(toolNames.length);
    await client.close();
  });

  const HOST_NAMES =
    'ChatGPT, Claude, Claude Code, Codex, Cursor, VS Code, Copilot Studio, Gemini CLI, Goose, LibreChat'.split(', ');
  /** Returns the rows of the table of hosts: the name and the steps. */
  const rowsOf = (text: string) => {
    const table = text.split('| Host | Steps |\n|---|---|\n')[1]?.split('\n\n')[0] ?? '';
    return table.split('\n').map((line) => {
      const [, host = '', steps = ''] = line.split('|').map((cell) => cell.trim());
      return [host, steps] as const;
    });
  };
  test('has one table with numbered steps for each host, and addresses of this service only', async () => {
    const { text } = await call(service, '/agents.md', { method: 'GET' });
    const rows = rowsOf(text);
    expect(rows.map(([host]) => host)).toEqual(HOST_NAMES);
    for (const [host, steps] of rows) {
      const numbers = [...steps.matchAll(/(?:^|<br>)(\d)\. /g)].map(([, number]) => Number(number));
      expect(numbers, host).toEqual(numbers.map((_number, index) => index + 1));
      expect(numbers.length, host).toBeGreaterThan(1);
      for (const [address = ''] of steps.matchAll(/http\S+(?=`)/g)) expect(address).toMatch(`${service.url}/`);
      const isWithSetting = HOSTS.some((each) => each.endsWith(` ${host}`));
      expect(steps.includes('below'), host).toBe(isWithSetting);
    }
  });

  test('leads ChatGPT and Claude to OAuth where it is on, and to the open hand-off elsewhere', () => {
    const markdown = readFileSync(join(import.meta.dirname, '../../content/agents.md'), 'utf8');
    const rows = (isOn: boolean) => rowsOf(selectPart(selectPart(markdown, 'oauth', isOn), 'no_oauth', !isOn));
    for (const [isOn, path] of [
      [true, '/connect'],
      [false, '/mcp/open'],
    ] as const) {
      expect(rows(isOn).map(([host]) => host)).toEqual(HOST_NAMES);
      const [chatGpt, claude, ...others] = rows(isOn);
      for (const row of [chatGpt, claude]) expect(row?.[1]).toContain(`\`{{base_url}}${path}\``);
      for (const [host, steps] of others) expect(steps, host).not.toMatch(/\/connect|\/mcp\/open/);
    }
  });

  test('does not mention MCP with MCP=off', async () => {
    const without = await startService({ environment: { MCP: 'off' } });
    const { text } = await call(without, '/agents.md', { method: 'GET' });
    expect(text).not.toMatch(/\/mcp(?!\.json)|\/connect|OAuth|\{\{/);
    await without.close();
  });
});
