import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { freePort } from '../support/free-port.ts';
import { countEffects } from '../support/outcomes.ts';
import { type ServiceProcess, spawnService, untilItAnswers } from '../support/process.ts';
import type { Ran } from '../support/ran.ts';
import { type Service, startService, tokens } from '../support/service.ts';
import { atTerminal, runService, temporaryFolder } from './run-service.ts';
import { withoutChance } from './transcript.ts';

describe('demo against a service in local mode', () => {
  let service: ServiceProcess;
  let first: Ran;
  beforeAll(async () => {
    service = await spawnService();
    await untilItAnswers(service);
    first = await runService(['demo'], { environment: environment() });
  });
  afterAll(async () => {
    await service.end();
    rmSync(service.dataDir, { recursive: true, force: true });
  });
  const environment = () => ({ PORT: String(service.port), DATA_DIR: service.dataDir });

  test('prints every step in order and exits with 0', async () => {
    const { status, stdout, stderr } = first;
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout.match(/^ +(GET|POST) .*\n +\d{3}/gm)?.map(shortened)).toEqual([
      'GET /.well-known/service-agent.json 200',
      'POST …/preview 200',
      'POST …/execute key 1 409',
      'POST …/execute key 1 200',
      'POST …/execute key 1 200',
      'POST …/execute key 2 409',
      'POST …/preview 200',
      'POST …/execute key 1 409',
      'GET /newsletter 200',
      'POST /api/subscribe urlencoded 303',
      'POST /api/leads JSON 200',
      'POST /api/leads urlencoded 303',
      'POST /api/leads multipart 303',
    ]);
    for (const words of ['preview_already_used', 'idempotency_conflict', 'A replay']) {
      expect(stdout).toContain(words);
    }
    expect(stdout).toContain('Sample Painting Company');
    await expect(demoText(stdout, service)).toMatchFileSnapshot('transcripts/demo.txt');
    const [, mailFile = ''] = /^ +(\/.*\.eml)$/m.exec(stdout) ?? [];
    const [, address = ''] = /To: (demo-\w+@example\.com)/.exec(stdout) ?? [];
    expect(readFileSync(mailFile, 'utf8')).toContain(`To: ${address}`);

    const token = readFileSync(join(service.dataDir, 'agent-token'), 'utf8').trim();
    expect(stdout).not.toContain(token);
    expect(stdout).not.toContain('\u001B');
  });

  test('creates one execution, three leads and one subscriber', async () => {
    const ran = await runService(['inbox', 'list', '--json'], { environment: environment() });
    const events = ran.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).data);
    expect(events.map(({ origin, form }) => `${origin} ${form}`).sort()).toEqual([
      'agent homeowner_quote',
      'browser contact',
      'browser contractor_signup',
      'browser homeowner_quote',
      'browser newsletter',
    ]);
  });

  test('exits with 1 and prints the wait in seconds if the rate limit of leads is used up', async () => {
    const { status, stderr } = await runService(['demo'], { environment: environment() });
    expect(status).toBe(1);
    expect(stderr).toMatch(
      /^Step 14: the expected answer is 303 with “\/thank-you”, but the answer is 429\. Try again in \d+ s\.\n$/,
    );
  });
});

/** Returns the output of a demo without what is random or differs from run to run. */
function demoText(stdout: string, { url, dataDir = '' }: { url: string; dataDir?: string }): string {
  return withoutChance(stdout, dataDir || 'no folder')
    .replaceAll(url, 'URL')
    .replace(/demo-[\da-f]+/g, 'demo-RANDOM')
    .replace(/[\w-]+(?=\.eml$)/gm, 'MESSAGE');
}

/** Returns a request line and its status, with keys numbered in order of appearance. */
function shortened(this: void, text: string, _index: number, all: string[]): string {
  const keys = [...new Set(all.flatMap((line) => /Idempotency-Key: (\S+)/.exec(line)?.[1] ?? []))];
  return text
    .replace(/Idempotency-Key: (\S+)/, (_match, key) => `key ${keys.indexOf(key) + 1}`)
    .replace('/api/agent/actions/homeowner_quote', '…')
    .replace(/\s+/g, ' ')
    .trim();
}

describe('demo that exits with 1', () => {
  let service: Service;
  let folder: string;
  beforeAll(async () => {
    service = await startService();
    folder = temporaryFolder();
  });
  afterAll(() => service.close());
  const tokenFile = (token: string) => {
    const path = join(folder, `${token}.txt`);
    writeFileSync(path, `${token}\n`);
    return path;
  };
  const effects = { forwarded: 0, rows: 0, mails: 0 };

  test('says that it looks for no e-mail if it does not know the service, and which e-mail is missing if it does', async () => {
    const own = await startService();
    const args = ['demo', '--token-file', tokenFile(tokens.both)];
    const ran = await runService([...args, '--url', own.url]);
    expect([ran.status, ran.stderr]).toEqual([0, '']);
    const end = ran.stdout.slice(ran.stdout.indexOf('As a browser'));
    await expect(demoText(end, own)).toMatchFileSnapshot('transcripts/demo-elsewhere.txt');

    const { port } = new URL(own.url);
    const other = await runService(args, { environment: { PORT: port, DATA_DIR: temporaryFolder() } });
    expect(other).toMatchObject({ status: 1, stdout: expect.stringContaining('Subscribe to the newsletter') });
    expect(other.stderr).toMatch(
      /^\S+ has no e-mail to the new subscriber\. Check that the service and this command use the same settings\.\n$/,
    );
    await own.close();
  });

  test('names the command that starts the service if no service answers at the address', async () => {
    const url = `http://127.0.0.1:${await freePort()}`;
    expect(await runService(['demo', '--url', url])).toEqual({
      status: 1,
      stdout: '',
      stderr: `The service does not answer at ${url}. Start it with \`npm start\`, or give its address with --url.\n`,
    });
  });

  test.each([
    [tokens.create, 'Step 2: the expected answer is 200 with “"preview_id":"”, but the answer is 403.'],
    [tokens.preview, 'Step 3: the expected answer is 409 with “has not confirmed”, but the answer is 403.'],
    ['canary-token', 'Step 2: the expected answer is 200 with “"preview_id":"”, but the answer is 401.'],
  ])('names the step and the status of the answer if the service refuses the token %s', async (token, words) => {
    const args = ['demo', '--url', service.url, '--token-file', tokenFile(token)];
    const { status, stdout, stderr } = await runService(args, { nodeOptions: atTerminal('stdout') });
    expect(status).toBe(1);
    expect(stdout.startsWith(`\u001B[1mAs an agent, at ${service.url}\u001B[0m\n`)).toBe(true);
    expect(stdout).toContain('  1  \u001B[1mRead the manifest: what can be done here?\u001B[0m\n');
    expect(stdout).toContain('     \u001B[32m200 OK\u001B[0m\n');
    expect(stdout).toContain('     \u001B[31m40');
    expect(stderr).toMatch(/^.+\. \S.+\n$/);
    expect(stderr.startsWith(words)).toBe(true);
    expect(stdout + stderr).not.toContain(token);
    expect(await countEffects(service)).toEqual(effects);
  });

  test('names the token file, but not its content, if the file is missing or invalid', async () => {
    const missing = join(folder, 'missing');
    const ran = await runService(['demo', '--url', service.url, '--token-file', missing]);
    expect(ran).toMatchObject({ status: 1, stderr: expect.stringContaining(missing) });
    const odd = tokenFile('odd');
    writeFileSync(odd, 'two canary\nlines\n');
    const other = await runService(['demo', '--url', service.url, '--token-file', odd]);
    expect(other).toMatchObject({ status: 1, stderr: expect.stringContaining(odd) });
    expect(other.stderr).not.toContain('canary');
  });

  test.each([
    [4, 4, '200 with “"status":"submitted"”, but the answer is 200.'],
    [6, 6, '409 with “preview_already_used”, but the answer is 409.'],
    [8, 8, '409 with “idempotency_conflict”, but the answer is 409.'],
    [9, 9, '200 with “action="/api/subscribe"”, but the answer is 200.'],
    // Step 11 looks for the e-mail, and sends nothing.
    [12, 11, '200 with “"ok":true”, but the answer is 200.'],
  ])('stops at step %i if answer %i has not the expected words: %s', async (step, changed, words) => {
    const own = await startService();
    let answers = 0;
    const proxy = createServer(async (request, response) => {
      const { 'content-length': _, connection: __, ...headers } = request.headers as Record<string, string>;
      const body = request.method === 'GET' ? null : Buffer.concat(await request.toArray());
      const url = `${own.url}${request.url}`;
      const answer = await fetch(url, { method: String(request.method), headers, body, redirect: 'manual' });
      answers += 1;
      const location = answer.headers.get('location');
      response.writeHead(answer.status, location === null ? {} : { location });
      response.end(answers === changed ? '{}' : await answer.text());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const ran = await runService(['demo', '--url', url, '--token-file', tokenFile(tokens.both)]);
    proxy.close();
    await own.close();
    expect([ran.status, ran.stderr]).toEqual([1, `Step ${step}: the expected answer is ${words}\n`]);
  });

  test('prints control characters of an unexpected answer as escapes', async () => {
    const server = createServer((_request, response) => {
      response.setHeader('content-type', 'application/json');
      response.end('{"version":"2026-09-01","actions":[],"error":"\\u001b[2Jcanary"}');
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const ran = await runService(['demo', '--url', `http://127.0.0.1:${port}`]);
    server.close();
    expect(ran).toMatchObject({
      status: 1,
      stderr: expect.stringMatching(
        /^Step 1: the expected answer is 200 with “"action":"homeowner_quote"”, but the answer is 200\. \\u001b\[2Jcanary\n$/,
      ),
    });
  });
});

describe('demo that would send sample data to another machine', () => {
  test.each([
    ['with --url', ['--url', 'http://service.invalid'], {}],
    ['with UPSTREAM_URL', [], { UPSTREAM_URL: 'http://127.0.0.1:1' }],
  ])('requires --yes %s', async (_name, args, environment) => {
    const ran = await runService(['demo', ...args], { environment });
    expect(ran).toMatchObject({ status: 2, stdout: '' });
    expect(ran.stderr).toContain('--yes');
    const answered = await runService(['demo', '--yes', ...args], {
      environment: { ...environment, PORT: String(await freePort()) },
    });
    expect(answered.stderr).toContain('The service does not answer');
  });

  test.each(['ftp://x.example', 'nowhere', 'http://user:canary@x.example'])(
    'exits with 2 for the invalid --url %s',
    async (url) => {
      const ran = await runService(['demo', '--url', url]);
      expect(ran).toMatchObject({ status: 2, stdout: '' });
      expect(ran.stderr).not.toContain('canary');
    },
  );
});

test('demo --json prints one line per step', async () => {
  const service = await spawnService();
  await untilItAnswers(service);
  const ran = await runService(['demo', '--json'], {
    environment: { PORT: String(service.port), DATA_DIR: service.dataDir },
  });
  await service.end();
  expect([ran.status, ran.stderr]).toEqual([0, '']);
  await expect(demoText(ran.stdout, service)).toMatchFileSnapshot('transcripts/demo.jsonl');
  rmSync(service.dataDir, { recursive: true, force: true });
});
