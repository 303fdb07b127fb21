import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { Event } from '../../src/upstream/upstream.ts';
import { freePort } from '../support/free-port.ts';
import { sentOf } from '../support/sent.ts';
import { startUpstream } from '../support/upstream.ts';

const page = readFileSync(new URL('../../content/receivers.md', import.meta.url), 'utf8');
const secret = Buffer.from('a secret of 24 or more bytes, +/ in base64 >>>???');
const environment = {
  PATH: process.env.PATH ?? '',
  UPSTREAM_SECRET: `whsec_${secret.toString('base64')}`,
};

/** A request to a receiver, which tests change and repeat. */
type Sent = { headers: Record<string, string>; body: Buffer };
type Receiver = { url: string; kept(): string[]; close(): void };

/** Returns the program of one language from the page, unchanged. */
function programOf(label: string): string {
  const block = new RegExp(`^\`\`\`\\w+ ${label}\\n([\\s\\S]*?)^\`\`\`$`, 'm');
  return block.exec(page)?.[1] ?? expect.fail(`no ${label}`);
}

const start = {
  Node: (folder: string, port: number) => serve(folder, port, 'receiver.mjs', [process.execPath, 'receiver.mjs']),
  Python: (folder: string, port: number) => serve(folder, port, 'receiver.py', ['python3', 'receiver.py']),
  PHP: (folder: string, port: number) =>
    serve(folder, port, 'receiver.php', ['php', '-S', `127.0.0.1:${port}`, 'receiver.php']),
  Shell: serveCgi,
};

type Language = keyof typeof start;
const languages = Object.keys(start) as Language[];

/** Program that a receiver needs and that this machine lacks. Node runs the tests, so it exists. */
const lacking: Record<Language, string | undefined> = {
  Node: undefined,
  Python: succeeds('python3', ['-c', 'import sqlite3']) ? undefined : 'python3 with sqlite3',
  PHP: succeeds('php', ['-r', 'exit((int) !extension_loaded("pdo_sqlite"));']) ? undefined : 'php with pdo_sqlite',
  Shell: succeeds('openssl', ['version']) ? undefined : 'openssl',
};
const missing = Object.values(lacking).filter((each) => each !== undefined);
if (missing.length > 0) process.stderr.write(`Receivers skipped for want of ${missing.join(', ')}.\n`);

function succeeds(program: string, argv: string[]): boolean {
  return spawnSync(program, argv, { stdio: 'ignore' }).status === 0;
}

async function serve(folder: string, port: number, file: string, [program = '', ...argv]: string[]): Promise<Receiver> {
  const child: ChildProcess = spawn(program, argv, {
    cwd: folder,
    env: { ...environment, PORT: String(port) },
    stdio: 'ignore',
  });
  const url = `http://127.0.0.1:${port}/${file}`;
  await vi.waitFor(() => fetch(url, { method: 'POST', body: '' }), { timeout: 10_000 });
  return {
    url,
    kept: () => {
      const database = new DatabaseSync(join(folder, 'received.db'));
      const rows = database.prepare('select event from received').all();
      database.close();
      return rows.map(({ event }) => String(event));
    },
    close: () => child.kill('SIGKILL'),
  };
}

/** Starts an HTTP server that runs the script for each request, as CGI does (RFC 3875). */
async function serveCgi(folder: string): Promise<Receiver> {
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const ran = spawnSync('sh', ['receiver.sh'], {
        cwd: folder,
        env: { ...environment, ...cgiVariables(request.headers) },
        input: Buffer.concat(chunks),
      });
      const status = /^Status: (\d{3})\r\n\r\n$/.exec(ran.stdout.toString())?.[1];
      response.writeHead(Number(status ?? 500)).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    kept: () => {
      const names = readdirSync(join(folder, 'received')).filter((name) => name.endsWith('.json'));
      return names.map((name) => readFileSync(join(folder, 'received', name), 'utf8'));
    },
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function cgiVariables(headers: IncomingHttpHeaders): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [`HTTP_${name.toUpperCase().replaceAll('-', '_')}`, String(value)]),
  );
}

let events = 0;

function newEvent(): Event {
  events += 1;
  return {
    type: 'lead.created',
    timestamp: '2026-09-01T12:00:00.000Z',
    data: {
      id: `0d6f2c1e-5b1a-4f37-9f0e-${String(events).padStart(12, '0')}`,
      form: 'contact',
      // Other JSON libraries write a slash, non-ASCII text and a final line break differently.
      fields: { name: 'Ada – ✓ 🎨', email: 'ada@example.com', message: 'a/b\n\n"$(id)" `id` %s\n' },
      recipient: null,
      origin: 'agent',
      client: 'acme',
      consent_recorded_at: null,
    },
  };
}

/** Delivers an event as the service does, signed at `ageSeconds` before now. */
async function deliver(url: string, event: Event, ageSeconds = 0, secrets = [secret]) {
  const clock: Clock = { ...systemClock, now: () => new Date(Date.now() - ageSeconds * 1_000) };
  const upstream = openHttpUpstream({ url, secrets, timeoutMs: 10_000, clock });
  const outcome = await upstream.deliver(sentOf(event), { mayStart: () => true });
  await upstream.close();
  return outcome;
}

/** Delivers the event to a raw server and returns the request. */
async function record(event: Event): Promise<Sent> {
  const raw = await startUpstream();
  await deliver(raw.url, event);
  await raw.close();
  const { headers, body } = raw.delivered[0] ?? expect.fail();
  const names = ['webhook-id', 'webhook-timestamp', 'webhook-signature'] as const;
  return {
    headers: Object.fromEntries(names.map((name) => [name, String(headers[name])])),
    body: Buffer.from(body),
  };
}

async function send(url: string, { headers, body }: Sent): Promise<number> {
  const answer = await fetch(url, { method: 'POST', headers, body: new Uint8Array(body) });
  await answer.arrayBuffer();
  return answer.status;
}

describe.each(languages.filter((language) => lacking[language] === undefined))('receiver in %s', (language) => {
  let receiver: Receiver;
  let sent: Sent;
  const folder = mkdtempSync(join(tmpdir(), 'receiver-'));
  const refused = async (headers: Record<string, string>, body = sent.body) => {
    const before = receiver.kept().length;
    expect(await send(receiver.url, { headers: { ...sent.headers, ...headers }, body })).toBe(401);
    expect(receiver.kept()).toHaveLength(before);
  };

  beforeAll(async () => {
    const extension = { Node: 'mjs', Python: 'py', PHP: 'php', Shell: 'sh' }[language];
    writeFileSync(join(folder, `receiver.${extension}`), programOf(language));
    receiver = await start[language](folder, await freePort());
    sent = await record(newEvent());
  });
  afterAll(() => receiver.close());

  test('stores the delivered event byte for byte and confirms it', async () => {
    const event = newEvent();
    expect(await deliver(receiver.url, event)).toMatchObject({ kind: 'confirmed', known: false });
    expect(receiver.kept()).toEqual([JSON.stringify(event)]);
  });

  test('stores a repeated event once and returns 204 for each delivery', async () => {
    const again = await record(newEvent());
    const before = receiver.kept().length;
    expect(await send(receiver.url, again)).toBe(204);
    expect(await send(receiver.url, again)).toBe(204);
    expect(receiver.kept()).toHaveLength(before + 1);
  });

  test('accepts one valid signature among several', async () => {
    const several = await record(newEvent());
    const good = several.headers['webhook-signature'];
    const other = `v1,${Buffer.alloc(32).toString('base64')}`;
    several.headers['webhook-signature'] = `v1a,x ${other} ${good} v2,*`;
    expect(await send(receiver.url, several)).toBe(204);
  });

  test('accepts an event signed with the old and the new key, in any order of the signatures', async () => {
    const [before, after] = [Buffer.alloc(32, 'before'), Buffer.alloc(32, 'after')];
    for (const secrets of [
      [secret, after],
      [before, secret],
      [before, secret, after],
    ]) {
      expect(await deliver(receiver.url, newEvent(), 0, secrets)).toMatchObject({ kind: 'confirmed' });
    }
    expect(await deliver(receiver.url, newEvent(), 0, [before, after])).toMatchObject({ status: 401 });
  });

  test('returns 401 for a body that was changed, or parsed and serialized again', async () => {
    const text = sent.body.toString();
    await refused({}, Buffer.from(text.replace('Ada', 'Eve')));
    await refused({}, Buffer.from(JSON.stringify(JSON.parse(text), null, 1)));
    await refused({}, Buffer.concat([sent.body, Buffer.from('\n')]));
    await refused({}, Buffer.alloc(0));
  });

  test('returns 401 for a changed id or time, and for an invalid or empty signature', async () => {
    const good = sent.headers['webhook-signature'] ?? '';
    const time = Number(sent.headers['webhook-timestamp']);
    await refused({ 'webhook-id': '0d6f2c1e-5b1a-4f37-9f0e-ffffffffffff' });
    await refused({ 'webhook-timestamp': String(time + 1) });
    for (const signature of [good.replace('v1,', 'v2,'), good.slice(3), good.slice(0, -2), 'v1,', '']) {
      await refused({ 'webhook-signature': signature });
    }
  });

  test.each(['', '-1', '1e9', 'x[$(touch injected)]', '99999999999999999999', '../../x'])(
    'returns 401 for %j as timestamp or id, and runs no command inside the text',
    async (text) => {
      await refused({ 'webhook-timestamp': text });
      await refused({ 'webhook-id': text });
      expect(readdirSync(folder)).not.toContain('injected');
    },
  );

  test('refuses an event whose timestamp is more than 5 minutes in the past or future', async () => {
    const before = receiver.kept().length;
    for (const age of [330, 86_400, -330]) {
      expect(await deliver(receiver.url, newEvent(), age)).toMatchObject({ kind: 'unconfirmed' });
    }
    expect(receiver.kept()).toHaveLength(before);
    expect(await deliver(receiver.url, newEvent(), 270)).toMatchObject({ kind: 'confirmed' });
  });
});

test('/receivers shows a command that makes a valid secret, and an example of a valid secret', () => {
  const command = /```sh\n(echo "whsec_.*)\n```/.exec(page)?.[1] ?? expect.fail();
  const made = spawnSync('sh', ['-c', command], { encoding: 'utf8' }).stdout.trim();
  const shown = /```text answer\n(.*)\n```/.exec(page)?.[1] ?? expect.fail();
  for (const secret of [made, shown]) {
    expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
    expect(Buffer.from(secret.replace('whsec_', ''), 'base64')).toHaveLength(32);
  }
});
