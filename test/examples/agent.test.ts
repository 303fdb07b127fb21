import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { checkOut, commandsUnder, runCommands } from '../support/documented.ts';
import { freePort } from '../support/free-port.ts';
import { type Ran, ranToTheEnd } from '../support/ran.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { type Break, type Relay, startRelay } from './relay.ts';

const example = resolve(import.meta.dirname, '../../examples/agent.ts');
const quote = [
  'homeowner_quote',
  'name=Ada Lovelace',
  'email=Ada@Example.com',
  'postal_code=94110',
  'message=walls = white',
];

let upstream: ProgrammableUpstream;
let relay: Relay;
let service: Service;
let folder: string;

beforeAll(async () => {
  upstream = await startUpstream();
  relay = await startRelay();
  // The manifest contains the address of the relay.
  const environment = { UPSTREAM_URL: upstream.url, BASE_URL: relay.url };
  service = await startService({ environment });
  relay.target = `http://127.0.0.1:${service.settings.port}`;
});
afterAll(async () => {
  await relay.close();
  await service.close();
  await upstream.close();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-'));
  upstream.answer = answering(200);
  upstream.delivered = [];
  Object.assign(relay, { breaks: [], executions: [], onAnswer: () => {} });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function runAgent(args: string[], environment: Record<string, string> = {}): Promise<Ran> {
  const child = spawn(process.execPath, [example, ...args], {
    cwd: folder,
    env: { BASE_URL: relay.url, TOKEN: tokens.both, ...environment },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  return ranToTheEnd(child);
}

function keptReceipts() {
  const path = join(folder, 'receipts.jsonl');
  const text = existsSync(path) ? readFileSync(path, 'utf8').trimEnd() : '';
  return text === '' ? [] : text.split('\n').map((line) => JSON.parse(line));
}

test('with --yes, prints fields, destination and statement, delivers once and stores the receipt', async () => {
  const { status, stdout, stderr } = await runAgent(['--yes', ...quote]);
  expect(status).toBe(0);
  for (const words of ['email: ada@example.com', 'message: walls = white', 'Vetted Painters']) {
    expect(stderr).toContain(words);
  }
  expect(stderr).toContain(CONFIRMATION_STATEMENT);
  const receipt = JSON.parse(stdout);
  expect(receipt).toMatchObject({ status: 'submitted', action: 'homeowner_quote' });
  expect(keptReceipts()).toEqual([receipt]);
  expect(upstream.delivered.map(({ event }) => event.data.id)).toEqual([receipt.action_id]);
  expect(stdout + stderr).not.toContain(tokens.both);
});

test('the command in README and in the header of agent.ts sends a lead, whichever Node.js is installed', async () => {
  const [command = '', ...more] = commandsUnder('README.md', 'For agent makers');
  expect(more).toEqual([]);
  expect(readFileSync(example, 'utf8')).toContain(command.trim());
  checkOut(join(folder, 'project'));
  const withYes = command.replace('agent.ts', 'agent.ts --yes');
  const environment = { BASE_URL: relay.url, TOKEN: tokens.both };
  const ran = await runCommands(withYes, join(folder, 'project'), environment);
  expect(ran.status, ran.stderr).toBe(0);
  expect(JSON.parse(ran.stdout)).toMatchObject({ status: 'submitted' });
});

test('reads the credential from TOKEN_FILE if TOKEN is empty', async () => {
  const file = join(folder, 'token');
  writeFileSync(file, `${tokens.other}\n`);
  const ran = await runAgent(['--yes', ...quote], { TOKEN: '', TOKEN_FILE: file });
  expect(ran.status).toBe(0);
  expect(upstream.delivered[0]?.event.data.client).toBe('other');
});

describe('agent after a dropped connection', () => {
  test.each<[string, Break, string]>([
    ['the request was lost', 'before', 'Sent once;'],
    ['the answer was lost', 'after', 'Sent once, by an earlier attempt;'],
  ])('delivers exactly once by repeating the request if %s', async (_where, where, words) => {
    relay.breaks = [where];
    const { status, stderr } = await runAgent(['--yes', ...quote]);
    expect(status).toBe(0);
    expect(stderr).toContain(`${relay.url} does not answer: the same again in 1 s.`);
    expect(stderr).toContain(words);
    const [first, second, ...more] = relay.executions;
    expect(more).toEqual([]);
    expect(first?.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(second).toMatchObject({ key: first?.key, body: first?.body });
    expect(upstream.delivered).toHaveLength(1);
    expect(keptReceipts()).toHaveLength(1);
  });

  test('waits as long as Retry-After says if its first attempt is still in progress (409), and delivers once', async () => {
    const arrived = Promise.withResolvers<void>();
    let confirm = () => {};
    upstream.answer = (response) => {
      confirm = () => response.writeHead(200).end();
      arrived.resolve();
    };
    relay.breaks = ['during'];
    relay.underWay = arrived.promise;
    relay.onAnswer = () => confirm();
    const { status, stderr } = await runAgent(['--yes', ...quote]);
    expect(status).toBe(0);
    expect(stderr).toContain('Answer 409: the same again in 1 s.');
    expect(relay.executions.map((execution) => execution.status)).toEqual([200, 409, 200]);
    expect(new Set(relay.executions.map(({ key }) => key)).size).toBe(1);
    expect(upstream.delivered).toHaveLength(1);
  });
});

describe('agent after a failed or refused request', () => {
  test.each([
    [422, '422: The destination rejected the submission.'],
    [429, '429: The destination accepts no more submissions for now.'],
    [500, '502: The destination could not confirm the submission.'],
  ])('explains the failure and does not repeat the execution if the destination answers %i', async (answer, words) => {
    upstream.answer = answering(answer);
    const { status, stdout, stderr } = await runAgent(['--yes', ...quote]);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toContain(words);
    expect(stderr).toContain('Tell the user that it may not have arrived.');
    expect(upstream.delivered).toHaveLength(1);
    expect(keptReceipts()).toEqual([expect.objectContaining({ status: 'failed' })]);
  });

  test.each<[string, string[], Record<string, string>, RegExp]>([
    ['a wrong credential', ['--yes', ...quote], { TOKEN: 'no-such-token' }, /401: .*operator/],
    ['a missing scope', ['--yes', ...quote], { TOKEN: tokens.preview }, /403: .*operator/],
    ['a missing field', ['--yes', ...quote.slice(0, 3)], {}, /400: postal_code is missing/],
    ['no action argument', [], {}, / {2}contact: name, email, subject, message/],
    ['no person to confirm', quote, {}, /There was no yes, so nothing was sent/],
  ])('explains the reason and sends nothing with %s', async (_name, args, environment, words) => {
    const { status, stdout, stderr } = await runAgent(args, environment);
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toMatch(words);
    expect(stderr).not.toContain(environment.TOKEN ?? tokens.both);
    expect(upstream.delivered).toHaveLength(0);
    expect(keptReceipts()).toEqual([]);
  });

  test('names the address that does not answer at once, and says what to do', async () => {
    const address = `http://127.0.0.1:${await freePort()}`;
    const { status, stdout, stderr } = await runAgent(['--yes', ...quote], { BASE_URL: address });
    expect([status, stdout]).toEqual([1, '']);
    expect(stderr).toBe(`${address} does not answer. Start the service, or set BASE_URL to its address.\n`);
  });

  test('names the address that has no manifest', async () => {
    const elsewhere = createServer((_request, response) => response.writeHead(404).end('<p>Nothing'));
    await once(elsewhere.listen(0, '127.0.0.1'), 'listening');
    const address = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
    const { status, stderr } = await runAgent(['--yes', ...quote], { BASE_URL: address });
    elsewhere.close();
    expect(status).toBe(1);
    expect(stderr).toBe(`There is no manifest at ${address}. 404: The answer does not say why.\n`);
  });

  test('names the fields that the form does not have, and sends the others', async () => {
    const { status, stderr } = await runAgent(['--yes', ...quote, 'zip=94110', 'budget=1']);
    expect(status).toBe(0);
    expect(stderr).toContain('The form has no such field: zip, budget.');
    expect(upstream.delivered).toHaveLength(1);
  });

  test('rejects a manifest whose addresses are not under BASE_URL, and sends nothing', async () => {
    // At its own address, the service names the relay's address as its base.
    const { status, stderr } = await runAgent(['--yes', ...quote], { BASE_URL: relay.target });
    expect(status).toBe(1);
    expect(stderr).toMatch(/is not under BASE_URL/);
    expect(upstream.delivered).toHaveLength(0);
  });
});
