import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/confirmation.ts';
import { countEffects } from '../support/outcomes.ts';
import { freePort, freshAddress, type Service, startService, tokens } from '../support/service.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const example = resolve(import.meta.dirname, '../../examples/agent.ts');
const quote = [
  'homeowner_quote',
  'name=Ada Lovelace',
  'email=Ada@Example.com',
  'postal_code=94110',
  'message=walls = white',
];

type Drop = 'before' | 'after';

/** What stands between the agent and the service, and drops connections as it is told. */
const between = {
  port: 0,
  executes: [] as { key: string | undefined; body: string }[],
  /** What happens to the next executions: the request is lost, or the answer is. */
  drops: [] as Drop[],
  onExecute: (_attempt: number) => {},
};

let upstream: ProgrammableUpstream;
let service: Service;
let folder: string;
const server = createServer((request, response) => {
  relay(request, response).catch(() => response.destroy());
});

beforeAll(async () => {
  between.port = await freePort();
  server.listen(between.port, '127.0.0.1');
  upstream = await startUpstream();
  service = await startService({
    environment: {
      UPSTREAM_URL: upstream.url,
      BASE_URL: `http://127.0.0.1:${between.port}`,
    },
  });
});
afterAll(async () => {
  server.close();
  await service.close();
  await upstream.close();
});
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'agent-'));
  upstream.answer = answering(200);
  upstream.delivered = [];
  Object.assign(between, { executes: [], drops: [], onExecute: () => {} });
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

async function relay(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const body = Buffer.concat(chunks);
  const isExecute = request.url?.endsWith('/execute') ?? false;
  const key = request.headers['idempotency-key'] as string | undefined;
  if (isExecute) between.executes.push({ key, body: body.toString() });
  const drop = isExecute ? between.drops.shift() : undefined;
  if (drop === 'before') return void request.socket.destroy();
  const headers: Record<string, string> = { 'x-forwarded-for': freshAddress() };
  for (const name of ['authorization', 'content-type', 'idempotency-key']) {
    const value = request.headers[name];
    if (typeof value === 'string') headers[name] = value;
  }
  const answering = fetch(`http://127.0.0.1:${service.settings.port}${request.url}`, {
    method: request.method ?? 'GET',
    headers,
    ...(request.method === 'POST' ? { body } : {}),
  });
  if (isExecute) between.onExecute(between.executes.length);
  const answer = await answering;
  const text = await answer.text();
  if (drop === 'after') return void request.socket.destroy();
  const retryAfter = answer.headers.get('retry-after');
  response.writeHead(answer.status, retryAfter === null ? {} : { 'retry-after': retryAfter });
  response.end(text);
}

async function runAgent(args: string[], environment: Record<string, string> = {}) {
  const child = spawn(process.execPath, [example, ...args], {
    cwd: folder,
    env: {
      PATH: process.env.PATH ?? '',
      BASE_URL: `http://127.0.0.1:${between.port}`,
      TOKEN: tokens.both,
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let stdout = '';
  let stderr = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    stderr += text;
  });
  const status = await new Promise((settle) => child.on('close', settle));
  return { status, stdout, stderr };
}

const keptReceipts = () =>
  readFileSync(join(folder, 'receipts.jsonl'), 'utf8').trim().split('\n').map((line) => JSON.parse(line));

test('shows fields, destination and statement, delivers once and keeps the receipt', async () => {
  const ran = await runAgent(['--yes', ...quote]);
  expect(ran.status).toBe(0);
  for (const words of ['email: ada@example.com', 'message: walls = white', 'Vetted Painters']) {
    expect(ran.stderr).toContain(words);
  }
  expect(ran.stderr).toContain(CONFIRMATION_STATEMENT);
  const receipt = JSON.parse(ran.stdout);
  expect(receipt).toMatchObject({ status: 'submitted', action: 'homeowner_quote' });
  expect(keptReceipts()).toEqual([receipt]);
  expect(upstream.delivered.map(({ event }) => event.data.id)).toEqual([receipt.action_id]);
  expect(ran.stdout + ran.stderr).not.toContain(tokens.both);
});

describe('after a dropped connection', () => {
  test.each<[Drop, string]>([
    ['before', 'Sent once;'],
    ['after', 'Sent once, by an earlier attempt;'],
  ])('%s the service had answered, the same request is delivered once', async (drop, words) => {
    between.drops = [drop];
    const ran = await runAgent(['--yes', ...quote]);
    expect(ran).toMatchObject({ status: 0, stderr: expect.stringContaining(words) });
    expect(ran.stderr).toContain('No answer: the same again in 1 s.');
    expect(between.executes).toHaveLength(2);
    expect(between.executes[1]).toEqual(between.executes[0]);
    expect(between.executes[0]?.key).toMatch(/^[0-9a-f-]{36}$/);
    expect(upstream.delivered).toHaveLength(1);
    expect(keptReceipts()).toHaveLength(1);
  });

  test('while it is still in progress, waits as Retry-After says and gets its receipt', async () => {
    // The first answer is lost while the destination is slow; the second attempt meets the first.
    let release = () => {};
    upstream.answer = (response) => {
      release = () => response.writeHead(200).end();
    };
    between.onExecute = (attempt) => {
      if (attempt === 3) release();
    };
    const serve = between.port;
    server.once('connection', () => {});
    expect(serve).toBeGreaterThan(0);
    const ran = await runAgent(['--yes', ...quote]);
    expect(ran.status).toBe(0);
  });
});
