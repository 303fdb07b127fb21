/** The commands of /agents, as a reader copies them: taken from the served Markdown, run, and what is shown under them. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { call, quote } from '../support/agent.ts';
import { type Ran, ranToTheEnd } from '../support/ran.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let upstream: ProgrammableUpstream;
let service: Service;
let blocks: { language: string; label: string; code: string }[];
let folder: string;

beforeAll(async () => {
  upstream = await startUpstream();
  // In local mode, where the page shows the credential that waits there.
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

const codeIn = (label: string) =>
  blocks.filter((block) => block.label === label).map(({ code }) => code);
/** Both parts of a program: they go into one file. */
const programIn = (label: string) => codeIn(label).join('\n');
/** The answers that the page shows, in their order. */
const shown = () => blocks.filter(({ label }) => label.startsWith('answer'));

/** What is another at each time keeps its shape alone: tokens, identifiers, times, addresses. */
function withoutWhatChanges(answer: unknown): unknown {
  const text = JSON.stringify(answer)
    .replace(/"[\w-]+\.[\w-]+"/g, '"<token>"')
    .replace(/"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"/g, '"<id>"')
    .replace(/"\d{4}-\d\d-\d\dT[\d:.]{12}Z"/g, '"<time>"')
    .replace(/\/confirm\/[\w-]+"/g, '/confirm/<secret>"');
  return JSON.parse(text);
}

function run(command: string, args: string[], input = ''): Promise<Ran> {
  const child = spawn(command, args, {
    cwd: folder,
    env: { PATH: process.env.PATH ?? '', TOKEN: tokens.both },
  });
  child.stdin.end(input);
  return ranToTheEnd(child);
}

/** Every language does the whole flow, once. */
function expectDelivered(receipt: { action_id: string; status: string }): void {
  expect(receipt.status).toBe('submitted');
  expect(upstream.delivered.map(({ event }) => event.data)).toEqual([
    expect.objectContaining({ id: receipt.action_id, form: 'homeowner_quote', fields: quote }),
  ]);
}

test('curl: the credential, a preview, an execution, and the replay that the page promises', async () => {
  const [credential = ''] = codeIn('');
  const [preview = '', execute = '', , ...more] = codeIn('curl');
  expect(more).toEqual([]);
  const again = execute.slice(execute.indexOf('curl'));
  const script = `set -eu\n${credential}${preview}${execute}\necho\n${again}`;
  writeFileSync(join(folder, 'agent.sh'), script);
  const { status, stdout, stderr } = await run('bash', ['agent.sh']);
  expect([status, stderr]).toEqual([0, '']);
  const [previewed = '', executed = '', replayed = ''] = stdout.trim().split('\n');
  expect(JSON.parse(previewed)).toMatchObject({ ok: true, fields: quote });
  expectDelivered(JSON.parse(executed).receipt);
  expect(JSON.parse(replayed)).toEqual({ ...JSON.parse(executed), replay: true });
  // What stands under the commands is what came back, as it was spelled: the names in their order, too.
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

test('curl: a page for the person, which answers what is shown', async () => {
  const [credential = ''] = codeIn('');
  const [preview = '', execute = '', ask = ''] = codeIn('curl');
  const beforeCurl = execute.slice(0, execute.indexOf('curl'));
  const written = ask.replace('curl -sS', `curl -sS -w '\\n%{http_code}'`);
  writeFileSync(
    join(folder, 'agent.sh'),
    `set -eu\n${credential}${preview}${beforeCurl}${written}`,
  );
  const { status, stdout, stderr } = await run('bash', ['agent.sh']);
  expect([status, stderr]).toEqual([0, '']);
  const [, answered = '', code] = stdout.trim().split('\n');
  const page = shown()[2];
  expect(page?.label).toBe(`answer ${code}`);
  const parsed = [page?.code ?? '', answered].map((text) => withoutWhatChanges(JSON.parse(text)));
  expect(parsed[0]).toEqual(parsed[1]);
  expect(JSON.stringify(parsed[0])).toContain(`${service.url}/confirm/<secret>`);
  expect(upstream.delivered).toEqual([]);
});

const programs = [
  ['JavaScript', 'agent.mjs', process.execPath],
  ['Python', 'agent.py', 'python3'],
] as const;

test.each(programs)(
  '%s: shows the preview, takes a yes, executes',
  async (language, file, command) => {
    writeFileSync(join(folder, file), programIn(language));
    const { status, stdout, stderr } = await run(command, [file], 'yes\n');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('This goes to Vetted Painters. I confirm that');
    expectDelivered(JSON.parse(/\{"action_id".*\}/.exec(stdout)?.[0] ?? ''));
  },
);

test.each(programs)('%s: sends nothing without a yes', async (language, file, command) => {
  writeFileSync(join(folder, file), programIn(language));
  const { status, stderr } = await run(command, [file], 'no\n');
  expect(status).toBe(1);
  expect(stderr).toContain('There was no yes, so nothing was sent.');
  expect(upstream.delivered).toEqual([]);
});

test.each(programs)(
  '%s: says what the service answered to a fault',
  async (language, file, command) => {
    const code = programIn(language).replace('94110', '');
    writeFileSync(join(folder, file), code);
    const { status, stderr } = await run(command, [file], 'yes\n');
    expect(status).toBe(1);
    expect(stderr).toContain('400: postal_code is missing.');
  },
);

/** Runs a program beside the saved `tools.mjs`; what it does with a call of `execute_action` is up to it. */
async function runTools(program: string): Promise<Ran> {
  const runner = codeIn('').find((code) => code.includes('runTool')) ?? '';
  writeFileSync(join(folder, 'tools.mjs'), runner);
  // As a model in strict mode calls: null where there is nothing to say.
  const nothing = { phone: null, project_type: null, timeline: null, message: null };
  const prelude = `
    import { runTool } from './tools.mjs';
    const shown = [];
    const saying = (answer) => async (preview) => { shown.push(preview); return answer; };
    const preview = await runTool('preview_homeowner_quote', ${JSON.stringify({ ...quote, ...nothing })});
    const input = {
      action: preview.action,
      preview_id: preview.preview_id,
      confirmation: true,
      confirmation_text: preview.confirmation_statement,
    };
  `;
  return await run(process.execPath, ['--input-type=module', '-e', prelude + program]);
}

describe('the tool runner', () => {
  test('does what a model asks for after a yes, and a repeated call sends and asks nothing twice', async () => {
    const { status, stdout, stderr } = await runTools(`
      const first = await runTool('execute_action', input, saying(true));
      const second = await runTool('execute_action', input, saying(false));
      const refused = await runTool('preview_contact', { email: 'ada@example.com' });
      console.log(JSON.stringify([first, second, refused, shown, preview]));
    `);
    expect([status, stderr]).toEqual([0, '']);
    const [first, second, refused, shown, preview] = JSON.parse(stdout);
    expectDelivered(first.receipt);
    expect(second).toEqual({ ...first, replay: true });
    expect(refused.error).toMatch(/name is missing/);
    // What the service answered, never what a model says of it.
    expect(shown).toEqual([preview]);
    expect(preview.fields).toEqual(quote);
  });

  test.each([
    ['a no', 'saying(false)'],
    ['words in the place of a yes', "saying('yes')"],
  ])('sends nothing after %s', async (_, confirm) => {
    const { status, stdout } = await runTools(`
      console.log((await runTool('execute_action', input, ${confirm})).error);
    `);
    expect([status, stdout]).toEqual([0, 'The user did not agree. Nothing was sent.\n']);
    expect(upstream.delivered).toEqual([]);
  });

  test.each(['', ', undefined', ", 'yes'"])(
    'executes nothing without a callback to confirm (%j)',
    async (confirm) => {
      const { status, stderr } = await runTools(
        `await runTool('execute_action', input${confirm});`,
      );
      expect(status).toBe(1);
      expect(stderr).toContain('execute_action needs confirm');
      expect(upstream.delivered).toEqual([]);
    },
  );

  test('executes no preview that it has not seen: there is nothing to show', async () => {
    const { stdout } = await runTools(`
      const unseen = { ...input, preview_id: 'payload.signature' };
      console.log(JSON.stringify([await runTool('execute_action', unseen, saying(true)), shown]));
    `);
    expect(JSON.parse(stdout)).toEqual([{ error: expect.stringMatching(/preview/i) }, []]);
    expect(upstream.delivered).toEqual([]);
  });
});

test('every block of code is one of those that are run here, or settings of a host', () => {
  const step = ['sh curl', 'js JavaScript', 'python Python', 'json answer 200'];
  const hosts = ['sh Claude Code', 'json Cursor', 'json VS Code', 'json Gemini CLI'];
  expect(blocks.map(({ language, label }) => `${language} ${label}`.trim())).toEqual([
    'sh',
    ...step,
    ...step,
    'sh curl',
    'json answer 201',
    ...hosts,
    'js',
  ]);
});

describe('the Model Context Protocol', () => {
  test('each host’s settings are JSON with the address of this deployment and the credential as a variable', () => {
    const files = ['Cursor', 'VS Code', 'Gemini CLI']
      .flatMap(codeIn)
      .map((code) => JSON.parse(code));
    const servers = files.map((file) => Object.values(file.mcpServers ?? file.servers)[0]) as {
      url?: string;
      httpUrl?: string;
      headers: { Authorization: string };
    }[];
    expect(servers).toHaveLength(3);
    for (const { url, httpUrl, headers } of servers) {
      expect(url ?? httpUrl).toBe(`${service.url}/mcp`);
      expect(headers.Authorization).toMatch(/^Bearer \$/);
    }
    expect(codeIn('Claude Code')[0]).toContain(`leads ${service.url}/mcp --header`);
  });

  test('with MCP=off the page says nothing of it', async () => {
    const without = await startService({ environment: { MCP: 'off' } });
    const { text } = await call(without, '/agents.md', { method: 'GET' });
    expect(text).not.toMatch(/\/mcp(?!\.json)|\{\{/);
    await without.close();
  });
});
