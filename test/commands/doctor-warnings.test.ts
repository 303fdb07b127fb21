import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { accessWarnings, settingsWarnings } from '../../src/commands/doctor/warnings.ts';
import { readSettings } from '../../src/settings/settings.ts';
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
/** Settings without a warning, whose addresses are not contacted. */
const production = {
  NODE_ENV: 'production',
  BASE_URL: 'https://x.example',
  UPSTREAM_URL: 'https://crm.example/hook',
  UPSTREAM_SECRET: secret,
  CONTRACTOR_ID: 'c-1',
  CONTRACTOR_NAME: 'Painters',
  CONTRACTOR_SINCE: '1998',
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

test('doctor prints no warning for safe production settings', async () => {
  const { status, warnings } = await doctor(production, '--no-send');
  expect({ status, warnings }).toEqual({ status: 0, warnings: [] });
});

test('doctor warns if the console is on without OPERATORS, or OPERATORS is set without the console', () => {
  const mail = { SMTP_URL: 'smtps://mail.example', MAIL_FROM: 'a@paint.example' };
  const warningsOf = (environment: Record<string, string>) => {
    const read = readSettings({ ...production, ...mail, ...environment });
    if (read.kind === 'invalid') return expect.fail(read.faults.join(' '));
    return settingsWarnings('console', { settings: read.settings, send: false }).map(({ says }) => says);
  };
  const OPERATORS = 'jo@paint.example';
  expect(warningsOf({})).toEqual([]);
  expect(warningsOf({ OPERATORS })).toEqual([]);
  expect(warningsOf({ OPERATOR_CONSOLE: 'on' })).toEqual(['Operators need a shell on the server to sign in.']);
  expect(warningsOf({ OPERATORS, OPERATOR_CONSOLE: 'off' })).toEqual(['OPERATORS is set nevertheless.']);
});

test.each([':/etc/localtime', 'Etc/Unknown'])(
  'doctor warns of an unknown time zone of the process: TZ=%s',
  async (zone) => {
    const { status, warnings } = await doctor({ ...production, TZ: zone }, '--no-send');
    expect([status, warnings.map(({ check }) => check)]).toEqual([0, ['clock']]);
    expect(warnings[0]?.says).toContain('uses UTC');
    expect(warnings[0]?.remedy).toContain('OPERATOR_TIME_ZONE');
    const set = { ...production, TZ: zone, OPERATOR_TIME_ZONE: 'Europe/Berlin' };
    expect((await doctor(set, '--no-send')).warnings).toEqual([]);
  },
);

test('doctor does not warn of an upstream without TLS on the same machine', async () => {
  const upstream = await startUpstream();
  const { warnings } = await doctor({ ...production, UPSTREAM_URL: upstream.url });
  await upstream.close();
  expect(warnings).toEqual([]);
});

test('doctor warns of an UPSTREAM_SECRET that is shorter than Standard Webhooks requires', async () => {
  const upstream = await startUpstream();
  const short = `whsec_${Buffer.from('too short').toString('base64')}`;
  const environment = { ...production, UPSTREAM_URL: upstream.url, UPSTREAM_SECRET: short };
  const { warnings } = await doctor(environment);
  await upstream.close();
  expect(warnings.map(({ check, says }) => [check, says])).toEqual([
    ['upstream', expect.stringContaining('UPSTREAM_SECRET is short')],
  ]);
});

test('doctor names the number of each short key in UPSTREAM_SECRET', () => {
  const short = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`;
  const given = { ...production, UPSTREAM_SECRET: `${short('too short')},${secret},${short('short too')}` };
  const read = readSettings(given);
  if (read.kind === 'invalid') expect.fail(read.faults.join());
  const warnings = settingsWarnings('upstream', { settings: read.settings, send: false });
  expect(warnings.map(({ says }) => says)).toEqual([
    'Key 1 of UPSTREAM_SECRET is short.',
    'Key 3 of UPSTREAM_SECRET is short.',
  ]);
});

test('doctor warns of no setting in local mode', async () => {
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
])('number of warnings if the SMTP password is sent to %s: %i', (url, count) => {
  const read = readSettings({ SMTP_URL: url, MAIL_FROM: 'a@b.example' });
  if (read.kind === 'invalid') throw new Error(read.faults.join());
  const warnings = settingsWarnings('mail', { settings: read.settings, send: true });
  expect(warnings).toHaveLength(count);
  expect(JSON.stringify(warnings)).not.toContain('canary');
});

test('doctor warns of an SMTP password if the connection to the mail server does not require TLS', async () => {
  const server = await startMailServer({ users: { user: 'canary' } });
  // This address could be any host's, but the connection reaches this machine.
  const SMTP_URL = server.url.replace('smtp://127.0.0.1', 'smtp://user:canary@0.0.0.0');
  const environment = { ...production, SMTP_URL, MAIL_FROM: 'hello@paint.example' };
  const { warnings, stdout } = await doctor(environment, '--no-send');
  await server.close();
  expect(warnings.map(({ check }) => check)).toEqual(['mail']);
  expect(warnings[0]?.remedy).toContain('requireTLS');
  expect(stdout).not.toContain('canary');
});

describe('doctor, files that others can access', () => {
  beforeEach(() => {
    mkdirSync(dataDir, { mode: 0o700 });
    writeFileSync(join(dataDir, 'preview-signing-key'), `${key}\n`, { mode: 0o600 });
    writeFileSync(join(dataDir, 'agents.json'), '{"clients":[]}', { mode: 0o600 });
  });

  test('warns of each file and prints the chmod command that protects it', async () => {
    chmodSync(dataDir, 0o777);
    for (const name of ['preview-signing-key', 'agents.json']) chmodSync(join(dataDir, name), 0o666);
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
  ])('accessWarnings for mode %i: %i warnings', (mode, count) => {
    chmodSync(dataDir, mode);
    expect(accessWarnings(dataDir)).toHaveLength(count);
    chmodSync(dataDir, 0o700);
  });

  test('accessWarnings returns nothing for a missing file', () => {
    expect(accessWarnings(join(dataDir, 'nothing'))).toEqual([]);
  });
});
