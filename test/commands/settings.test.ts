import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { variables } from '../../src/settings/variables.ts';
import { newKey } from '../support/receipts.ts';
import { runService, temporaryFolder } from './run-service.ts';

type Row = { name: string; value: string | null; source: string };

async function settingsOf(environment: Record<string, string>, folder = temporaryFolder()) {
  const ran = await runService(['settings', '--json'], { environment, folder });
  const rows: Row[] = JSON.parse(ran.stdout);
  const byName = Object.fromEntries(rows.map(({ name, ...row }) => [name, row]));
  return { rows, byName, text: ran.stdout + ran.stderr };
}

test('settings lists every variable with its default if nothing is set', async () => {
  const { rows, byName } = await settingsOf({});
  expect(rows.map(({ name }) => name)).toEqual(Object.keys(variables));
  expect(rows.every(({ source }) => source === 'default')).toBe(true);
  expect(byName).toMatchObject({
    BASE_URL: { value: 'http://127.0.0.1:3000' },
    UPSTREAM_URL: { value: 'inbox:' },
    MAIL_PER_MINUTE: { value: '60' },
    METRICS_PORT: { value: null },
  });
});

test('settings shows the source of each value: environment before .env, or a file', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.env'), 'PORT=4001\nHOST=::1\nSMTP_URL_FILE=smtp\nMAIL_FROM=a@b.example\n');
  writeFileSync(join(folder, 'smtp'), 'smtp://user:canary-password@mail.example\n');
  const OPERATORS = 'jo@x.example, ann@x.example';
  const environment = { PORT: '4002', OPERATORS, REDIS_URL: 'redis://:canary-password@r.example' };
  const { byName, text } = await settingsOf(environment, folder);
  expect(byName).toMatchObject({
    PORT: { value: '4002', source: 'environment' },
    HOST: { value: '::1', source: '.env' },
    BASE_URL: { value: 'http://[::1]:4002', source: 'default' },
    OPERATORS: { value: 'jo@x.example,ann@x.example', source: 'environment' },
    SMTP_URL: { value: '(set)', source: 'file' },
    REDIS_URL: { value: '(set)', source: 'environment' },
  });
  expect(text).not.toContain('canary');
});

test('settings shows no secret', async () => {
  const key = Buffer.alloc(32, 'canary').toString('base64');
  const receiptKey = newKey();
  const { byName, text } = await settingsOf({
    DATABASE_URL: 'postgres://user:canary@db.example/x',
    REDIS_URL: 'redis://:canary@r.example',
    UPSTREAM_URL: 'https://x.example/canary',
    UPSTREAM_SECRET: `whsec_${key}, whsec_${Buffer.alloc(24, 'canary').toString('base64')}`,
    UPSTREAM_HEADERS: 'Authorization: Bearer canary\nX-Key: canary',
    PREVIEW_SIGNING_KEYS: key,
    RECEIPT_SIGNING_KEYS: receiptKey,
    SMTP_URL: 'smtp://user:canary@mail.example',
    MAIL_FROM: 'a@b.example',
  });
  expect(byName.UPSTREAM_HEADERS?.value).toBe('Authorization, X-Key');
  const secrets = Object.entries(variables).filter(([, variable]) => 'secret' in variable);
  const hidden = secrets.map(([name]) => name).filter((name) => name !== 'UPSTREAM_HEADERS');
  for (const name of hidden) expect(byName[name]?.value).toBe('(set)');
  expect(text).not.toContain('canary');
  expect(text).not.toContain(key);
  expect(text).not.toContain('PRIVATE KEY');
});

test('settings shows only the header names of UPSTREAM_HEADERS_FILE, and null if no headers are set', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, 'headers'), 'X-Key: canary\r\n\r\nX-Other: canary\r\n');
  const { byName, text } = await settingsOf({ UPSTREAM_HEADERS_FILE: 'headers' }, folder);
  expect(byName.UPSTREAM_HEADERS).toEqual({ value: 'X-Key, X-Other', source: 'file' });
  expect(text).not.toContain('canary');
  expect((await settingsOf({})).byName.UPSTREAM_HEADERS).toEqual({ value: null, source: 'default' });
});

test('settings prints a table without --json', async () => {
  const ran = await runService(['settings'], { environment: { OPERATOR_NAME: 'Paint Match' } });
  expect(ran).toMatchObject({ status: 0, stderr: '' });
  expect(ran.stdout).toMatch(/^VARIABLE +VALUE +SOURCE$/m);
  expect(ran.stdout).toMatch(/^METRICS_PORT +- +default$/m);
  expect(ran.stdout).toMatch(/^OPERATOR_NAME +Paint Match +environment$/m);
});

test('settings exits with 78 for an invalid .env, and shows none of its values', async () => {
  const folder = temporaryFolder();
  writeFileSync(join(folder, '.env'), 'PROT=canary\nOPERATOR_NAME="canary & Sons\n');
  const ran = await runService(['settings'], { folder });
  expect(ran).toMatchObject({ status: 78, stdout: '' });
  expect(ran.stderr.trimEnd().split('\n')).toEqual([
    'PROT (line 1 of .env) names no setting. Did you mean PORT?',
    'OPERATOR_NAME (line 2 of .env) has an unclosed quotation mark, or text behind the closing one.',
  ]);
});
