/** Runs the commands of README, "Going live", in a new folder. */
import { spawn } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { CONFIRMATION_STATEMENT } from '../../src/actions/preview.ts';
import { type MailServer, startMailServer } from '../mail/mail-server.ts';
import { checkOut, commandsUnder, emptyFolder, ofTheMachine, runCommands } from '../support/documented.ts';
import { freePort } from '../support/free-port.ts';
import { atEndOfFile } from '../support/leftovers.ts';
import { listens } from '../support/listens.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';

const START = 'npm start\n';
const quote = { name: 'Ada Lovelace', email: 'ada@example.com', postal_code: '94110' };

let folder: string;
let upstream: ProgrammableUpstream;
let mailServer: MailServer;
let port: number;
let token: string;

beforeAll(async () => {
  folder = join(emptyFolder(), 'project');
  checkOut(folder);
  upstream = await startUpstream();
  mailServer = await startMailServer({ users: { user: 'password' } });
  port = await freePort();
});
afterAll(async () => {
  await upstream.close();
  await mailServer.close();
});

/** Replaces the two example addresses by servers of this test. */
function withOurAddresses(commands: string): string {
  const ours = commands
    .replace('https://crm.example/hooks/leads', upstream.url)
    .replace('smtps://user:password@mail.paint.example:465', `smtp://user:password@127.0.0.1:${mailServer.port}`);
  expect(ours).not.toMatch(/crm\.example|mail\.paint/);
  return ours;
}

const run = (commands: string) => runCommands(commands, folder, { PORT: String(port) });

/** Posts JSON, like a proxy that saw the client at this address. */
function post(path: string, body: object, address: string, headers: Record<string, string> = {}) {
  return fetch(`http://127.0.0.1:${port}${path}`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-forwarded-for': address, ...headers },
    body: JSON.stringify(body),
  });
}

test('README’s commands before the start create the secrets, the settings and a credential', async () => {
  const [commands = '', ...more] = commandsUnder('README.md', 'Going live');
  expect(more).toEqual([]);
  expect(commands.endsWith(START)).toBe(true);
  const ran = await run(withOurAddresses(commands.slice(0, -START.length)));
  expect(ran.status, ran.stderr).toBe(0);
  token = ran.stdout.trim().split('\n').at(-1) ?? '';
  expect(token).toMatch(/^lia_\w+$/);
  expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700);
});

test('npm start serves in production mode, with every feature except metrics', async () => {
  const child = spawn('npm', ['start'], {
    cwd: folder,
    env: { ...ofTheMachine, PORT: String(port) },
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  const ended = new Promise((settle) => child.once('close', settle));
  atEndOfFile(() => {
    // The process group has npm and the service.
    if (child.pid !== undefined) process.kill(-child.pid, 'SIGTERM');
    return ended;
  });
  let said = '';
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    said += text;
  });
  await until(() => listens(port));
  const start = /^\{.*"service started".*$/m;
  await until(() => start.test(said));
  const { mode, features, envFile } = JSON.parse(start.exec(said)?.[0] ?? '');
  expect([mode, envFile]).toEqual(['production', join(folder, '.env')]);
  const off = features.filter(({ on }: { on: boolean }) => !on);
  expect(off.map(({ feature }: { feature: string }) => feature)).toEqual(['metrics']);
});

test('npm run doctor reports no failure and no warning with README’s settings', async () => {
  const { status, stdout } = await run('npm run --silent doctor');
  expect(stdout).not.toMatch(/^(failed|warning|off)/m);
  expect([status, stdout]).toEqual([0, expect.stringMatching(/^ok +test message/m)]);
});

test('npm run settings shows the settings in use, but no secret', async () => {
  const { status, stdout } = await run('npm run --silent settings');
  expect([status, stdout]).toEqual([0, expect.stringContaining('https://paint.example')]);
  for (const name of ['preview-keys', 'receipt-keys', 'upstream']) {
    expect(stdout).not.toContain(readFileSync(join(folder, 'secrets', name), 'utf8').trim());
  }
});

test('an agent with the new credential previews and executes, and the upstream gets a valid signature', async () => {
  upstream.delivered = [];
  const authorization = { authorization: `Bearer ${token}` };
  const action = '/api/agent/actions/homeowner_quote';
  const preview = await post(`${action}/preview`, quote, '203.0.113.1', authorization);
  const { preview_id, destination } = (await preview.json()) as Record<string, string>;
  expect([preview.status, destination]).toEqual([200, 'Vetted Painters']);
  const confirmed = { preview_id, confirmation: true, confirmation_text: CONFIRMATION_STATEMENT };
  const execution = await post(`${action}/execute`, confirmed, '203.0.113.1', {
    ...authorization,
    'idempotency-key': 'going-live',
  });
  expect(execution.status).toBe(200);
  const [{ headers, body } = expect.fail('nothing arrived')] = upstream.delivered;
  const secret = readFileSync(join(folder, 'secrets/upstream'), 'utf8').trim();
  const hmac = createHmac('sha256', Buffer.from(secret.slice('whsec_'.length), 'base64'));
  hmac.update(`${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`);
  expect(headers['webhook-signature']).toBe(`v1,${hmac.digest('base64')}`);
});

test('seven people behind the proxy have separate rate limits, so that none of them gets 429', async () => {
  const addresses = Array.from({ length: 7 }, (_, index) => `203.0.113.${index + 10}`);
  const leads = addresses.map((address) => post('/api/leads', { form: 'homeowner_quote', ...quote }, address));
  expect((await Promise.all(leads)).map(({ status }) => status)).toEqual(Array(7).fill(200));
});

test('a subscriber gets the confirmation message, and the operator gets the notices', async () => {
  const answer = await post('/api/subscribe', { email: 'ada@example.com', privacy: 'yes' }, '203.0.113.9');
  expect(answer.status).toBe(200);
  const received = (to: string) => mailServer.received.filter((mail) => mail.to.includes(to));
  await until(() => received('ada@example.com').length === 1);
  expect(received('ada@example.com')).toMatchObject([{ from: 'hello@paint.example' }]);
  // The earlier tests sent an execution and seven leads.
  await until(() => received('leads@paint.example').length === 8, 30_000);
});
