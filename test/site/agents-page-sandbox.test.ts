/** Runs every command of the served /agents page with a sandbox token, as a maker pastes them (reference §27). */
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { call, executeAction } from '../support/agent.ts';
import { checkOut, emptyFolder, ofTheMachine, runCommands } from '../support/documented.ts';
import { send } from '../support/mcp.ts';
import { type Service, startService } from '../support/service.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

let upstream: ProgrammableUpstream;
let service: Service;
let folder: string;
/** The shell commands of the page, in its order. */
let commands: string[];
beforeAll(async () => {
  upstream = await startUpstream();
  service = await startService({ environment: { NODE_ENV: '', UPSTREAM_URL: upstream.url } });
  const { text } = await call(service, '/agents.md', { method: 'GET' });
  commands = [...text.matchAll(/^```sh[^\n]*\n([\s\S]*?)^```$/gm)].map(([, code = '']) => code);
  folder = emptyFolder();
  checkOut(folder);
  mkdirSync(join(folder, 'data'));
  // In place of the hosts, whose programs need an account: they print their arguments, one on each line.
  for (const program of ['claude', 'codex']) {
    mkdirSync(join(folder, 'hosts'), { recursive: true });
    writeFileSync(join(folder, 'hosts', program), `#!/bin/sh\nprintf '%s\\n' "$@"\n`);
    chmodSync(join(folder, 'hosts', program), 0o755);
  }
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

const isIssue = (command: string) => command.includes('credentials -- issue');

/** Issues a sandbox client with the command of the page, and returns its token. */
async function issueToken(): Promise<string> {
  const [issue = '', ...more] = commands.filter(isIssue);
  expect(more).toEqual([]);
  const environment = { AGENT_CREDENTIALS_FILE: service.settings.credentialsFile ?? '' };
  const { status, stdout, stderr } = await runCommands(issue, folder, environment);
  expect([status, stderr]).toEqual([0, expect.any(String)]);
  await service.parts.credentials.reload();
  return stdout.trim().split('\n').at(-1) ?? '';
}

/** Pastes the commands into one shell, in the order of the page, and returns the output of each one. */
async function paste(pasted: string[], token: string): Promise<string[]> {
  const END = '-- end of a command --';
  const script = pasted.map((command) => `${command}\nprintf '%s' '${END}'\n`).join('');
  const PATH = [join(folder, 'hosts'), ofTheMachine.PATH].join(delimiter);
  const { status, stdout, stderr } = await runCommands(script, folder, { TOKEN: token, PATH });
  expect([status, stderr]).toEqual([0, '']);
  return stdout.split(END).slice(0, -1);
}

test('every command of /agents works with the sandbox token that its own command issues, and sends nothing', async () => {
  const token = await issueToken();
  writeFileSync(join(folder, 'data/agent-token'), `${token}\n`);
  const outputs = await paste(
    commands.filter((command) => !isIssue(command)),
    token,
  );
  const [claude = '', codex = '', exported, preview = '', execute = '', ask = '', rejected = '', ...more] = outputs;
  expect([exported, more]).toEqual(['', []]);

  expect(claude.split('\n')).toContain(`Authorization: Bearer ${token}`);
  expect(codex.split('\n')).toContain('TOKEN');
  for (const output of [claude, codex]) {
    expect(output.split('\n')).toContain(`${service.url}/mcp`);
    const { status, headers } = await send(service, 'tools/list', {}, { token });
    expect([status, headers.get('sandbox')]).toEqual([200, 'true']);
  }

  expect(JSON.parse(preview)).toMatchObject({ ok: true, confirmation_required: true });
  expect(JSON.parse(execute).receipt.status).toBe('submitted');
  expect(JSON.parse(ask).confirmation.status).toBe('pending');
  const [head = '', body = ''] = rejected.split('\r\n\r\n');
  expect(head).toMatch(/^HTTP\/1\.1 200 [\s\S]*\r\nsandbox: true/i);
  const executed = await executeAction(service, JSON.parse(body).preview_id, { action: 'contact', token });
  expect([executed.status, executed.body.receipt.status]).toEqual([422, 'failed']);

  // The prompt of a shell begins on a line of its own after each answer.
  for (const output of [preview, execute, ask, rejected]) expect(output).toMatch(/\}\n$/);
  expect(upstream.delivered).toEqual([]);
  const stored = (table: 'executions' | 'confirmations') =>
    service.parts.storage.read((db) => db.selectFrom(table).select('sandbox'));
  expect([await stored('executions'), await stored('confirmations')]).toEqual([
    Array(3).fill({ sandbox: 1 }),
    [{ sandbox: 1 }],
  ]);
  const clients = JSON.parse(readFileSync(service.settings.credentialsFile ?? '', 'utf8')).clients;
  expect(clients.at(-1)).toMatchObject({ name: 'my-test', sandbox: true });
});
