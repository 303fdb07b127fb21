/** Checks the files of deploy/one-box with systemd and Caddy. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseEnv } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readSettings } from '../../src/settings/settings.ts';
import { type Caddy, caddyIsThere, startCaddy } from '../support/caddy.ts';
import { listens } from '../support/listens.ts';
import { spawnService } from '../support/process.ts';
import { newKey } from '../support/receipts.ts';
import { type Service, startService } from '../support/service.ts';

const project = resolve(import.meta.dirname, '../..');
const oneBox = join(project, 'deploy/one-box');
const UNITS = ['lead-intake.service', 'lead-intake-backup.service', 'lead-intake-backup.timer'];

/** Returns true if a program is installed. Throws if it is missing and `TEST_SERVICES=required`, as in CI. */
function isThere(program: string): boolean {
  const there = spawnSync('which', [program]).status === 0;
  if (!there && process.env.TEST_SERVICES === 'required') {
    throw new Error(`${program} is not there, and TEST_SERVICES=required wants it.`);
  }
  if (!there) console.warn(`Skipped: ${program} is not there, so what it reads is not tried.`);
  return there;
}

describe.skipIf(!isThere('systemd-analyze'))('systemd units', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'units-'));
    for (const name of UNITS) {
      const unit = readFileSync(join(oneBox, name), 'utf8');
      // systemd-analyze requires that the started program exists.
      writeFileSync(join(folder, name), unit.replaceAll('/opt/lead-intake', project));
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  const analyze = (...argv: string[]) => {
    const { status, stdout, stderr } = spawnSync('systemd-analyze', argv, { encoding: 'utf8' });
    return { status, said: stdout + stderr };
  };

  test('pass systemd-analyze verify without a warning', () => {
    const verified = analyze('verify', ...UNITS.map((name) => join(folder, name)));
    expect(verified).toEqual({ status: 0, said: '' });
  });

  test('have an exposure level of at most 2.0 in systemd-analyze security', () => {
    const options = ['--offline=true', '--threshold=20', join(folder, 'lead-intake.service')];
    expect(analyze('security', ...options).status).toBe(0);
  });

  test('give the service more time to stop than the longest drain with default settings', () => {
    const [, seconds] = /^TimeoutStopSec=(\d+)$/m.exec(read('lead-intake.service')) ?? [];
    const result = readSettings({});
    const timeout = result.kind === 'valid' ? result.settings.upstreamTimeoutMs : Infinity;
    expect(Number(seconds) * 1000).toBeGreaterThan(timeout + 5_000);
  });

  test('the service works without the system calls that the units forbid', async () => {
    const groups = ['@privileged', '@chown', '@resources'].map((name) => analyze('syscall-filter', name).said);
    const names = groups.flatMap((said) => [...said.matchAll(/^ {4}([a-z]\w*)$/gm)]);
    const calls = names.map(([, name = '']) => name).filter(isKnownToStrace);
    expect(calls.length).toBeGreaterThan(10);
    // `-D` runs strace as a grandchild, so that signals of this test reach the service itself.
    const refused = `-e trace=${calls} -e inject=${calls}:error=EPERM`;
    const confined = await spawnService({
      shell: `exec strace -D -f -qq -o /dev/null ${refused} "$@"`,
    });
    while (!(await listens(confined.port))) await sleep(50);
    const lead = await fetch(`${confined.url}/api/leads`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ email: 'ada@example.com' }),
    });
    expect([lead.status, (await fetch(`${confined.url}/readyz`)).status]).toEqual([200, 200]);
    confined.kill('SIGTERM');
    expect(await confined.exited).toEqual({ status: 0, signal: null });
  });
});

describe.skipIf(!caddyIsThere)('Caddyfile', () => {
  let caddy: Caddy;
  let service: Service;
  let url: string;
  beforeAll(async () => {
    service = await startService({ environment: { TRUST_PROXY: '127.0.0.1' } });
    caddy = await startCaddy(service.settings.port);
    url = caddy.url;
  });
  afterAll(async () => {
    await caddy.close();
    await service.close();
  });

  test('overwrites the X-Forwarded-For of a client, so that the client’s sixth lead gets 429', async () => {
    const statuses: number[] = [];
    for (let number = 1; number <= 6; number += 1) {
      const response = await fetch(`${url}/api/leads`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', 'x-forwarded-for': `203.0.113.${number}` },
        body: JSON.stringify({ email: `person${number}@example.com` }),
      });
      statuses.push(response.status);
    }
    expect(statuses).toEqual([200, 200, 200, 200, 200, 429]);
  });

  test('forwards a body of 600 kB, so that the service returns 413', async () => {
    const response = await fetch(`${url}/api/leads`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ message: 'a'.repeat(600_000) }),
    });
    expect([response.status, await response.json()]).toEqual([413, { error: expect.any(String) }]);
  });

  test('forwards pages in the compression of the service', async () => {
    const response = await fetch(`${url}/quote`, { headers: { 'accept-encoding': 'br' } });
    expect([response.status, response.headers.get('content-encoding')]).toEqual([200, 'br']);
  });
});

/** Returns valid content for the secret file that a setting names. */
function secretOf(name: string): string {
  if (name.startsWith('RECEIPT')) return newKey();
  return name.startsWith('SMTP') ? 'smtp://mail.example:587' : keyOf();
}

test('deploy/one-box/environment contains valid settings', () => {
  const folder = mkdtempSync(join(tmpdir(), 'settings-'));
  const environment = { ...parseEnv(read('environment')) };
  for (const [name, value] of Object.entries(environment)) {
    if (!name.endsWith('_FILE') || name === 'AGENT_CREDENTIALS_FILE') continue;
    const file = join(folder, name);
    writeFileSync(file, secretOf(name));
    expect(value).toMatch(/^\/etc\/lead-intake\//);
    environment[name] = file;
  }
  expect(readSettings(environment)).toMatchObject({ kind: 'valid' });
  rmSync(folder, { recursive: true });
});

function keyOf(): string {
  return spawnSync('openssl', ['rand', '-base64', '32'], { encoding: 'utf8' }).stdout;
}

function read(name: string): string {
  return readFileSync(join(oneBox, name), 'utf8');
}

/** Returns true if strace has this system call on this architecture. */
function isKnownToStrace(name: string): boolean {
  return spawnSync('strace', ['-e', `trace=${name}`, 'true']).status === 0;
}
