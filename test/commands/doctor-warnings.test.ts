import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { accessDangers, mailDangers } from '../../src/commands/doctor/dangers.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { startUpstream } from '../support/upstream.ts';
import { runService, temporaryFolder } from './run-service.ts';

type Finding = { check: string; outcome: string; says: string; remedy?: string };

let dataDir: string;
beforeEach(() => {
  dataDir = join(temporaryFolder(), 'data');
});

const secret = `whsec_${Buffer.alloc(32, 'key').toString('base64')}`;
const key = Buffer.alloc(32, 'key').toString('base64');
/** Nothing of it is dangerous, and nothing is reached. */
const production = {
  NODE_ENV: 'production',
  BASE_URL: 'https://x.example',
  UPSTREAM_URL: 'https://crm.example/hook',
  UPSTREAM_SECRET: secret,
  CONTRACTOR_ID: 'c-1',
  CONTRACTOR_NAME: 'Painters',
  OPERATOR_NAME: 'Paint Match',
  OPERATOR_CONTACT: 'hello@paint.example',
  TRUST_PROXY: '127.0.0.1',
  PREVIEW_SIGNING_KEYS: key,
};

async function doctor(environment: Record<string, string>, ...args: string[]) {
  const ran = await runService(['doctor', '--json', ...args], {
    environment: { DATA_DIR: dataDir, ...environment },
  });
  const { findings } = JSON.parse(ran.stdout) as { findings: Finding[] };
  const warnings = findings.filter(({ outcome }) => outcome === 'warning');
  return { ...ran, warnings };
}

test('production that is well set is warned of nothing', async () => {
  const { status, warnings } = await doctor(production, '--no-send');
  expect({ status, warnings }).toEqual({ status: 0, warnings: [] });
});

test('what is dangerous in production is a warning with its remedy, not a failure', async () => {
  const dangerous = {
    UPSTREAM_URL: 'http://crm.example/hook',
    UPSTREAM_SECRET: '',
    OPERATOR_NAME: '',
    OPERATOR_CONTACT: '',
    TRUST_PROXY: '',
  };
  const { status, warnings } = await doctor({ ...production, ...dangerous }, '--no-send');
  expect({ status, checks: warnings.map(({ check }) => check) }).toEqual({
    status: 0,
    checks: ['operator', 'rate limits', 'upstream'],
  });
  const [operator, limits, upstream] = warnings;
  expect(operator?.says).toMatch(/“Service”.* no contact/);
  expect(operator?.remedy).toMatch(/OPERATOR_NAME.*OPERATOR_CONTACT/);
  expect(limits?.says).toContain('share one limit');
  expect(limits?.remedy).toContain('TRUST_PROXY');
  expect(upstream?.says).toMatch(/unsigned.*not encrypted/);
  expect(upstream?.remedy).toMatch(/UPSTREAM_SECRET.*https:/);
});

test('so is production without an upstream', async () => {
  const { status, warnings } = await doctor({ ...production, UPSTREAM_URL: '' });
  expect(status).toBe(0);
  expect(warnings).toEqual([
    {
      check: 'upstream',
      outcome: 'warning',
      says: expect.stringContaining('503'),
      remedy: 'Set UPSTREAM_URL.',
    },
  ]);
});

test('an upstream on this machine needs no TLS', async () => {
  const upstream = await startUpstream();
  const { warnings } = await doctor({ ...production, UPSTREAM_URL: upstream.url });
  await upstream.close();
  expect(warnings).toEqual([]);
});

test('a secret shorter than Standard Webhooks asks for is a warning', async () => {
  const upstream = await startUpstream();
  const short = `whsec_${Buffer.from('too short').toString('base64')}`;
  const environment = { ...production, UPSTREAM_URL: upstream.url, UPSTREAM_SECRET: short };
  const { warnings } = await doctor(environment);
  await upstream.close();
  expect(warnings.map(({ check, says }) => [check, says])).toEqual([
    ['upstream', expect.stringContaining('UPSTREAM_SECRET is short')],
  ]);
});

test('local mode is warned of none of them', async () => {
  const environment = { BASE_URL: 'https://x.example', UPSTREAM_URL: 'http://crm.example/' };
  expect((await doctor(environment, '--no-send')).warnings).toEqual([]);
});

test.each([
  ['smtp://user:canary@mail.example:587', 1],
  ['smtp://user:canary@mail.example?requireTLS=false', 1],
  ['smtp://user:canary@mail.example?requireTLS=true&ignoreTLS=true', 1],
  ['smtp://user:canary@mail.example?requireTLS=true', 0],
  ['smtps://user:canary@mail.example', 0],
  ['smtp://mail.example', 0],
  ['smtp://user:canary@127.0.0.1:2525', 0],
  ['smtp://user:canary@[::1]', 0],
  ['smtp://user:canary@localhost', 0],
  ['smtp://user:canary@127.0.0.1.example', 1],
])('a password that is sent to %s: %i warnings', (url, count) => {
  const dangers = mailDangers({ mail: { kind: 'smtp', url, from: 'a@b.example' } });
  expect(dangers).toHaveLength(count);
  expect(JSON.stringify(dangers)).not.toContain('canary');
});

test('the check of the mail server says so', async () => {
  const server = await startMailServer({ users: { user: 'canary' } });
  // By a name that could be anybody's, the connection comes to this machine all the same.
  const SMTP_URL = server.url.replace('smtp://127.0.0.1', 'smtp://user:canary@0.0.0.0');
  const environment = { ...production, SMTP_URL, MAIL_FROM: 'hello@paint.example' };
  const { warnings, stdout } = await doctor(environment, '--no-send');
  await server.close();
  expect(warnings.map(({ check }) => check)).toEqual(['mail']);
  expect(warnings[0]?.remedy).toContain('requireTLS');
  expect(stdout).not.toContain('canary');
});

describe('files that others can read or write', () => {
  beforeEach(() => {
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, 'preview-signing-key'), `${key}\n`, { mode: 0o600 });
    writeFileSync(join(dataDir, 'agents.json'), '{"clients":[]}', { mode: 0o600 });
  });

  test('are warnings that name them', async () => {
    chmodSync(dataDir, 0o777);
    for (const name of ['preview-signing-key', 'agents.json'])
      chmodSync(join(dataDir, name), 0o666);
    const { status, warnings } = await doctor({}, '--no-send');
    expect(status).toBe(0);
    expect(warnings.map(({ check, remedy }) => [check, remedy])).toEqual([
      ['data folder', `chmod o-rwx,g-w ${dataDir}`],
      ['signing keys', `chmod o-rwx,g-w ${join(dataDir, 'preview-signing-key')}`],
      ['credentials', `chmod o-rwx,g-w ${join(dataDir, 'agents.json')}`],
    ]);
  });

  test.each([
    [0o600, 0],
    [0o640, 0],
    [0o750, 0],
    [0o620, 1],
    [0o604, 1],
    [0o602, 1],
    [0o701, 1],
  ])('mode %i: %i warnings', (mode, count) => {
    chmodSync(dataDir, mode);
    expect(accessDangers(dataDir)).toHaveLength(count);
    chmodSync(dataDir, 0o700);
  });

  test('what is not there is none', () => {
    expect(accessDangers(join(dataDir, 'nothing'))).toEqual([]);
  });
});
