/** The doctor's warnings about settings and files that are valid but probably a mistake (reference §13.3). */
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import type { Finding } from '../../src/commands/doctor/check.ts';
import { credentials, signingKeys } from '../../src/commands/doctor/key-checks.ts';
import { dataFolder } from '../../src/commands/doctor/local-checks.ts';
import { mailServer } from '../../src/commands/doctor/mail-checks.ts';
import { upstream } from '../../src/commands/doctor/upstream-check.ts';
import { accessWarnings, settingsWarnings } from '../../src/commands/doctor/warnings.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { startMailServer } from '../mail/mail-server.ts';
import { startUpstream } from '../support/upstream.ts';
import { examine } from './examine.ts';
import { runService, temporaryFolder } from './run-service.ts';

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

/** Returns the warnings of a whole run that sends nothing. */
async function warningsOfRun(environment: Record<string, string>): Promise<Finding[]> {
  const ran = await runService(['doctor', '--json', '--no-send'], {
    environment: { DATA_DIR: dataDir, ...environment },
  });
  const { findings } = JSON.parse(ran.stdout) as { findings: Finding[] };
  return findings.filter(({ outcome }) => outcome === 'warning');
}

/** Returns the warnings that the settings add to a check. */
function settingsWarningsOf(check: string, environment: Record<string, string>) {
  const read = readSettings(environment);
  if (read.kind === 'invalid') return expect.fail(read.faults.join(' '));
  return settingsWarnings(check, { settings: read.settings, send: false });
}

test('doctor prints no warning for safe production settings', async () => {
  expect(await warningsOfRun(production)).toEqual([]);
});

test('doctor warns if the console is on without OPERATORS, or OPERATORS is set without the console', () => {
  const mail = { SMTP_URL: 'smtps://mail.example', MAIL_FROM: 'a@paint.example' };
  const warningsOf = (environment: Record<string, string>) =>
    settingsWarningsOf('console', { ...production, ...mail, ...environment }).map(({ says }) => says);
  const OPERATORS = 'jo@paint.example';
  expect(warningsOf({})).toEqual([]);
  expect(warningsOf({ OPERATORS })).toEqual([]);
  expect(warningsOf({ OPERATOR_CONSOLE: 'on' })).toEqual(['Operators need a shell on the server to sign in.']);
  expect(warningsOf({ OPERATORS, OPERATOR_CONSOLE: 'off' })).toEqual(['OPERATORS is set nevertheless.']);
});

test.each([':/etc/localtime', 'Etc/Unknown'])(
  'doctor warns of an unknown time zone of the process: TZ=%s',
  async (zone) => {
    expect(await warningsOfRun({ ...production, TZ: zone })).toMatchObject([
      {
        check: 'clock',
        says: expect.stringMatching(/\. TZ is not a known time zone, so the service uses UTC\.$/),
        remedy: 'Set OPERATOR_TIME_ZONE, or TZ, to an IANA name such as Europe/Berlin.',
      },
    ]);
    const set = { ...production, TZ: zone, OPERATOR_TIME_ZONE: 'Europe/Berlin' };
    expect(await warningsOfRun(set)).toEqual([]);
  },
);

test('doctor warns of a short UPSTREAM_SECRET, but not of an upstream without TLS on the same machine', async () => {
  const { url, close } = await startUpstream();
  const short = `whsec_${Buffer.from('too short').toString('base64')}`;
  const [safe, warned] = [secret, short].map((UPSTREAM_SECRET) =>
    examine({ ...production, UPSTREAM_URL: url, UPSTREAM_SECRET }, [upstream]),
  );
  expect(await safe).toEqual([{ outcome: 'ok', told: 'Test event ID was delivered.' }]);
  expect(await warned).toEqual([
    {
      outcome: 'warning',
      told: 'Test event ID was delivered. UPSTREAM_SECRET is short. Create a secret of at least 24 bytes: echo "whsec_$(openssl rand -base64 32)"',
    },
  ]);
  await close();
});

test('doctor names the number of each short key in UPSTREAM_SECRET', () => {
  const short = (text: string) => `whsec_${Buffer.from(text).toString('base64')}`;
  const given = { ...production, UPSTREAM_SECRET: `${short('too short')},${secret},${short('short too')}` };
  expect(settingsWarningsOf('upstream', given).map(({ says }) => says)).toEqual([
    'Key 1 of UPSTREAM_SECRET is short.',
    'Key 3 of UPSTREAM_SECRET is short.',
  ]);
});

test('doctor warns of no setting in local mode', async () => {
  const environment = { BASE_URL: 'https://x.example', UPSTREAM_URL: 'http://crm.example/' };
  expect(await warningsOfRun(environment)).toEqual([]);
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
  const warnings = settingsWarningsOf('mail', { SMTP_URL: url, MAIL_FROM: 'a@b.example' });
  expect(warnings).toHaveLength(count);
  expect(JSON.stringify(warnings)).not.toContain('canary');
});

test('doctor warns of an SMTP password if the connection to the mail server does not require TLS', async () => {
  const server = await startMailServer({ users: { user: 'canary' } });
  // This address could be any host's, but the connection reaches this machine.
  const SMTP_URL = server.url.replace('smtp://127.0.0.1', 'smtp://user:canary@0.0.0.0');
  const environment = { ...production, SMTP_URL, MAIL_FROM: 'hello@paint.example' };
  expect(await examine(environment, [mailServer])).toEqual([
    {
      outcome: 'warning',
      told: 'The mail server accepts the connection. The mail password may be sent without TLS. Write smtps:// in SMTP_URL, or append ?requireTLS=true.',
    },
  ]);
  await server.close();
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
    const findings = await examine({ DATA_DIR: dataDir }, [dataFolder, signingKeys, credentials]);
    const warned = (path: string) => `Other users can read or change ${path}. chmod o-rwx,g-w ${path}`;
    expect(findings).toEqual([
      { outcome: 'warning', told: `${dataDir} is writable. ${warned(dataDir)}` },
      { outcome: 'warning', told: `1 key. ${warned(join(dataDir, 'preview-signing-key'))}` },
      { outcome: 'warning', told: `0 clients. ${warned(join(dataDir, 'agents.json'))}` },
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
