import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, utimesSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Webhook } from 'standardwebhooks';
import { beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openSqlite } from '../../src/storage/sqlite/store.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { redisAnswers, redisUrl } from '../support/databases.ts';
import { answering, startUpstream } from '../support/upstream.ts';
import { runService, temporaryFolder } from './run-service.ts';

type Finding = { check: string; outcome: string; says: string; remedy?: string };

let dataDir: string;

beforeEach(() => {
  dataDir = join(temporaryFolder(), 'data');
});

async function doctor(environment: Record<string, string> = {}, ...args: string[]) {
  const ran = await runService(['doctor', '--json', ...args], {
    environment: { DATA_DIR: dataDir, ...environment },
  });
  const { ok, findings } = JSON.parse(ran.stdout) as { ok: boolean; findings: Finding[] };
  const of = (check: string) => findings.find((finding) => finding.check === check);
  return { ...ran, ok, of, outcomes: findings.map(({ check, outcome }) => `${check}: ${outcome}`) };
}

test('doctor reports no fault on a fresh machine, and leaves nothing in the database', async () => {
  const { status, ok, of, outcomes } = await doctor();
  expect({ status, ok, outcomes }).toEqual({
    status: 0,
    ok: true,
    outcomes: [
      'data folder: ok',
      'database: ok',
      'signing keys: ok',
      'receipt keys: ok',
      'credentials: ok',
      'site: ok',
      'operator: ok',
      'console: ok',
      'OAuth: ok',
      'rate limits: ok',
      'upstream: ok',
      'clock: ok',
      'mail: ok',
      'notices: off',
      'test message: ok',
    ],
  });
  expect(of('site')?.says).toBe('11 pages.');
  const inbox = await runService(['inbox', 'list', '--json'], {
    environment: { DATA_DIR: dataDir },
  });
  expect(inbox.stdout).toBe('');
  expect(readdirSync(dataDir).filter((name) => name.startsWith('.doctor'))).toEqual([]);
});

test('doctor prints good outcomes green and failures red on a terminal', async () => {
  const atTerminal = 'data:text/javascript,process.stdout.isTTY = true';
  const environment = { DATA_DIR: dataDir, SMTP_URL: 'smtp://127.0.0.1:1', MAIL_FROM: 'a@x.example' };
  const { stdout } = await runService(['doctor', '--no-send'], { environment, nodeOptions: ['--import', atTerminal] });
  expect(stdout).toContain('\u001B[32mok       \u001B[0mdatabase');
  expect(stdout).toContain('\u001B[31mfailed   \u001B[0mmail');
  expect(stdout).toMatch(/^off {6}notices/m);
});

test.each(['http://127.0.0.1:1/hook', 'http://no-such-host.invalid/hook'])(
  'doctor exits with 1 if the upstream at %s can’t be reached',
  async (UPSTREAM_URL) => {
    const { status, of } = await doctor({ UPSTREAM_URL });
    expect(status).toBe(1);
    expect(of('upstream')?.says).toMatch(
      /is not confirmed \(E[A-Z]+\)\. (Nothing listens at this address|The name of the host can’t be resolved)\.$/,
    );
    expect(of('test message')).toMatchObject({ outcome: 'ok' });
  },
);

test('if there is no database, doctor names its path and does not create it', async () => {
  const path = join(dataDir, 'service.db');
  expect((await doctor()).of('database')).toEqual({
    check: 'database',
    outcome: 'ok',
    says: `There is no database yet at ${path}. The first start creates it.`,
  });
  expect(existsSync(path)).toBe(false);
  const nowhere = await doctor({ DATABASE_URL: 'sqlite:/proc/nowhere/service.db' });
  expect([nowhere.status, nowhere.of('database')?.outcome]).toEqual([1, 'failed']);
});

test('doctor fails if the data folder can’t be written or the database is damaged', async () => {
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'file'), 'not a folder');
  const folder = await doctor({ DATA_DIR: join(dataDir, 'file') });
  expect(folder.status).toBe(1);
  expect(folder.stderr).toMatch(/checks failed\.\n$/);
  expect(folder.of('data folder')).toMatchObject({ outcome: 'failed' });
  expect(folder.of('data folder')?.remedy).toContain('DATA_DIR');

  writeFileSync(join(dataDir, 'service.db'), 'this is not a database, but it is long enough to be read');
  expect((await doctor()).of('database')).toMatchObject({ outcome: 'failed' });
});

test('doctor fails if the database refuses a write', async () => {
  mkdirSync(dataDir);
  const path = join(dataDir, 'service.db');
  await (await openSqlite(path, systemClock)).close();
  const database = new DatabaseSync(path);
  database.exec("create trigger refuse before insert on scrub_requests begin select raise(fail, 'canary'); end");
  database.close();
  const { status, of, stdout } = await doctor();
  expect([status, of('database')?.outcome]).toEqual([1, 'failed']);
  expect(stdout).not.toContain('canary');
});

test('doctor fails if a table is missing, though the database takes a write', async () => {
  mkdirSync(dataDir);
  const path = join(dataDir, 'service.db');
  await (await openSqlite(path, systemClock)).close();
  const database = new DatabaseSync(path);
  database.exec('drop table executions');
  database.close();
  const { status, of } = await doctor();
  expect([status, of('database')?.outcome, of('receipt keys')?.outcome]).toEqual([1, 'ok', 'failed']);
});

test.runIf(redisAnswers)('doctor reports that Redis counts the rate limits if Redis answers', async () => {
  const { of } = await doctor({ REDIS_URL: redisUrl }, '--no-send');
  expect(of('rate limits')).toMatchObject({ outcome: 'ok', says: 'Redis counts the limits.' });
});

test('doctor fails if nothing listens at the port of Redis', async () => {
  const away = await doctor({ REDIS_URL: 'redis://127.0.0.1:1' }, '--no-send');
  expect(away.status).toBe(1);
  expect(away.of('rate limits')?.outcome).toBe('failed');
});

test('doctor fails if Redis accepts connections and never answers', async () => {
  const silent = createServer(() => {}).listen(0, '127.0.0.1');
  await once(silent, 'listening');
  const { port } = silent.address() as AddressInfo;
  const { of } = await doctor({ REDIS_URL: `redis://127.0.0.1:${port}` }, '--no-send');
  expect(of('rate limits')?.outcome).toBe('failed');
  silent.close();
});

test('doctor reports the clock as ok if there is no folder with file times to compare', async () => {
  const { of } = await doctor(
    {
      NODE_ENV: 'production',
      BASE_URL: 'https://x.example',
      DATABASE_URL: 'postgres://127.0.0.1:1/x',
    },
    '--no-send',
  );
  expect(of('clock')).toMatchObject({ outcome: 'ok' });
  expect(of('clock')?.says).toMatch(/There is no upstream time to compare with\.$/);
});

test('doctor fails if a file in the data folder is newer than the clock', async () => {
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, 'later'), '');
  const later = new Date(Date.now() + 3_600_000);
  utimesSync(join(dataDir, 'later'), later, later);
  const { status, of } = await doctor();
  expect(status).toBe(1);
  expect(of('clock')).toMatchObject({ outcome: 'failed' });
});

describe('doctor, clock compared with the upstream’s', () => {
  async function clockBeside(date: (now: number) => string | undefined, status = 200) {
    const upstream = await startUpstream();
    upstream.answer = (response) => {
      response.sendDate = false;
      const value = date(Date.now());
      if (value !== undefined) response.setHeader('date', value);
      response.writeHead(status).end();
    };
    const ran = await doctor({ UPSTREAM_URL: upstream.url });
    await upstream.close();
    return { status: ran.status, clock: ran.of('clock') };
  }
  const off = (seconds: number) => (now: number) => new Date(now + seconds * 1000).toUTCString();

  test.each([
    [0, 'ok', /, [0-9] s (ahead of|behind) the upstream’s clock\.$/],
    [50, 'ok', /\d\d s behind the upstream’s clock\.$/],
    [-50, 'ok', /\d\d s ahead of the upstream’s clock\.$/],
    [90, 'warning', /s behind the upstream’s clock\.$/],
    [-90, 'warning', /s ahead of the upstream’s clock\.$/],
    [3 * 86_400, 'failed', /s behind .* refuse a difference of more than 5 minutes\.$/],
    [-330, 'failed', /s ahead of .* refuse a difference of more than 5 minutes\.$/],
  ])('reports a difference of %i s as %s', async (seconds, outcome, says) => {
    const { status, clock } = await clockBeside(off(seconds));
    expect({ status, outcome: clock?.outcome }).toEqual({
      status: outcome === 'failed' ? 1 : 0,
      outcome,
    });
    expect(clock?.says).toMatch(says);
    if (outcome === 'ok') expect(clock).not.toHaveProperty('remedy');
    else expect(clock?.remedy).toContain('NTP');
  });

  test('compares the clocks even if the upstream refuses the event', async () => {
    expect((await clockBeside(off(900), 401)).clock?.outcome).toBe('failed');
  });

  test.each([undefined, 'yesterday, about three'])('ignores the missing or invalid Date header %j', async (date) => {
    mkdirSync(dataDir, { recursive: true });
    writeFileSync(join(dataDir, 'agents.json'), '{"clients":[]}', { mode: 0o600 });
    const { clock } = await clockBeside(() => date);
    expect(clock).toMatchObject({ outcome: 'ok' });
    expect(clock?.says).toMatch(/There is no upstream time to compare with, and no file in .* has a later time\.$/);
  });
});

describe('doctor, keys and credentials', () => {
  test('counts the clients and warns of expired credentials', async () => {
    const file = join(temporaryFolder(), 'agents.json');
    const dates = {
      created_at: '2020-01-01T00:00:00.000Z',
      expires_at: '2021-01-01T00:00:00.000Z',
    };
    const credentials = [{ id: 'c_7', sha256: 'a'.repeat(64), ...dates }];
    const clients = [{ name: 'acme', scopes: [], credentials }];
    writeFileSync(file, JSON.stringify({ clients }), { mode: 0o600 });
    const { status, of } = await doctor({ AGENT_CREDENTIALS_FILE: file });
    expect(status).toBe(0);
    expect(of('credentials')).toMatchObject({
      outcome: 'warning',
      says: '1 client. Expired: c_7 of acme.',
    });
  });

  test.each([
    ['missing', undefined],
    ['broken', '{"clients": 3}'],
  ])('fails if the credentials file is %s', async (_, content) => {
    const file = join(temporaryFolder(), 'agents.json');
    if (content !== undefined) writeFileSync(file, content);
    const { status, of } = await doctor({ AGENT_CREDENTIALS_FILE: file });
    expect(status).toBe(1);
    expect(of('credentials')?.outcome).toBe('failed');
  });
});

describe('doctor, upstream', () => {
  const secret = `whsec_${Buffer.alloc(32, 'k').toString('base64')}`;

  test('sends nothing with --no-send', async () => {
    const upstream = await startUpstream();
    const { of } = await doctor({ UPSTREAM_URL: upstream.url }, '--no-send');
    await upstream.close();
    expect(of('upstream')).toMatchObject({ outcome: 'off' });
    expect(of('test message')).toBeUndefined();
    expect(upstream.delivered).toHaveLength(0);
  });

  test('sends a signed test event, and warns if the event is unsigned because UPSTREAM_SECRET is not set', async () => {
    const upstream = await startUpstream();
    const signed = await doctor({ UPSTREAM_URL: upstream.url, UPSTREAM_SECRET: secret });
    const unsigned = await doctor({ UPSTREAM_URL: upstream.url });
    await upstream.close();
    expect(signed.of('upstream')?.outcome).toBe('ok');
    expect(unsigned.of('upstream')?.outcome).toBe('warning');
    const [first] = upstream.delivered;
    const headers = first?.headers as Record<string, string>;
    expect(() => new Webhook(secret).verify(first?.body ?? '', headers)).not.toThrow();
    // The mark keeps receivers from creating a lead.
    expect(first?.event.data).toMatchObject({ form: 'contact', origin: 'browser', test: true });
  });

  test.each([422, 429, 401, 500])('fails if the upstream answers %i', async (code) => {
    const upstream = await startUpstream();
    upstream.answer = answering(code);
    const { status, of, stdout } = await doctor({ UPSTREAM_URL: upstream.url });
    await upstream.close();
    expect(status).toBe(1);
    expect(of('upstream')).toMatchObject({ outcome: 'failed' });
    expect(of('upstream')?.says).toContain(String(code));
    expect(stdout).not.toContain('body');
  });
});

describe('doctor, mail', () => {
  const mailOf = (url: string) => ({ SMTP_URL: url, MAIL_FROM: 'hello@paint.example' });

  test('sends a test message to MAIL_FROM or --mail-to, and fails if the password is wrong', async () => {
    const server = await startMailServer({ users: { user: 'canary' } });
    const url = server.url.replace('smtp://', 'smtp://user:canary@');
    const verified = await doctor(mailOf(url));
    expect(verified.of('mail')).toMatchObject({ outcome: 'ok' });
    expect(server.received).toMatchObject([{ to: ['hello@paint.example'] }]);
    const sent = await doctor(mailOf(url), '--mail-to', 'you@example.com');
    expect(sent.of('test message')).toMatchObject({ outcome: 'ok' });
    expect(server.received[1]).toMatchObject({
      from: 'hello@paint.example',
      to: ['you@example.com'],
    });
    const wrong = await doctor(mailOf(server.url.replace('smtp://', 'smtp://user:wrong-canary@')));
    await server.close();
    expect(wrong.of('mail')).toMatchObject({ outcome: 'failed' });
    expect(wrong.status).toBe(1);
    for (const { stdout, stderr } of [verified, sent, wrong]) {
      expect(stdout + stderr).not.toContain('canary');
    }
  });

  test('fails if the mail server refuses the test message or does not answer', async () => {
    const server = await startMailServer({ recipient: () => ({ code: 550, text: '5.1.1 no' }) });
    const refused = await doctor(mailOf(server.url), '--mail-to', 'you@example.com');
    await server.close();
    expect(refused.of('test message')).toMatchObject({ outcome: 'failed' });
    const gone = await doctor(mailOf(server.url));
    expect(gone.of('mail')).toMatchObject({ outcome: 'failed' });
    expect(gone.of('mail')?.remedy).toContain('SMTP_URL');
  });
});
