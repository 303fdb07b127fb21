import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseEnv } from 'node:util';
import { describe, expect, test } from 'vitest';
import type { Environment } from '../../src/settings/environment.ts';
import { NO_RECEIPT_KEYS } from '../../src/settings/receipt-keys.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { fileVariable, type VariableName, variables } from '../../src/settings/variables.ts';
import { formNames } from '../support/forms.ts';
import { newKey, publicOf } from '../support/receipts.ts';

const names = Object.keys(variables) as VariableName[];
const production = { NODE_ENV: 'production', BASE_URL: 'https://paint.example' };
const key = Buffer.alloc(32, 'key').toString('base64');

function settingsOf(environment: Environment) {
  const read = readSettings(environment);
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  return read.settings;
}

function faultsOf(environment: Environment): string[] {
  const read = readSettings(environment);
  return read.kind === 'invalid' ? read.faults : [];
}

function temporaryFile(content: string): string {
  const path = join(mkdtempSync(join(tmpdir(), 'settings-')), 'value');
  writeFileSync(path, content);
  return path;
}

describe('default settings (reference §20.3)', () => {
  const shared = {
    host: '127.0.0.1',
    port: 3000,
    dataDir: resolve('data'),
    database: { kind: 'sqlite', path: resolve('data/service.db') },
    redisUrl: undefined,
    receiptRetentionDays: 400,
    submissionRetentionDays: 30,
    upstreamTimeoutMs: 10_000,
    upstreamHeaders: [],
    upstreamRedirect: 'unconfirmed',
    redelivery: 'on',
    previewSigningKeys: [],
    receiptKeys: NO_RECEIPT_KEYS,
    mailPerMinute: 60,
    acknowledge: 'off',
    operator: { name: 'Service', contact: undefined },
    contentDir: undefined,
    trustProxy: [],
    allowedOrigins: [],
    mcpAllowedOrigins: [],
    logLevel: 'info',
    mcp: 'on',
    oauth: 'on',
    oauthHosts: ['claude.ai', 'claude.com', 'chatgpt.com'],
    confirmationMinimum: Object.fromEntries(formNames.map((name) => [name, 'agent'])),
    operators: [],
    metricsPort: undefined,
  };

  test('select an embedded component for every service in local mode', () => {
    expect(settingsOf({})).toEqual({
      ...shared,
      mode: 'local',
      operatorConsole: 'on',
      baseUrl: 'http://127.0.0.1:3000',
      upstream: { kind: 'inbox' },
      credentialsFile: resolve('data/agents.json'),
      mail: { kind: 'files', folder: resolve('data/mail'), from: expect.any(String) },
      contractor: { id: expect.any(String), name: expect.any(String) },
    });
  });

  test('enable no component in production that is not configured', () => {
    expect(settingsOf(production)).toEqual({
      ...shared,
      mode: 'production',
      operatorConsole: 'off',
      baseUrl: 'https://paint.example',
      upstream: { kind: 'none' },
      credentialsFile: undefined,
      mail: { kind: 'none' },
      contractor: undefined,
    });
  });

  test('change together with HOST, PORT and DATA_DIR, from which they derive', () => {
    const { baseUrl, database, credentialsFile, mail } = settingsOf({
      HOST: '::1',
      PORT: '4000',
      DATA_DIR: '/srv/data',
    });
    expect(baseUrl).toBe('http://[::1]:4000');
    expect(database).toEqual({ kind: 'sqlite', path: '/srv/data/service.db' });
    expect(credentialsFile).toBe('/srv/data/agents.json');
    expect(mail).toMatchObject({ folder: '/srv/data/mail' });
  });
});

describe('values of settings', () => {
  test('are read from every variable', () => {
    const settings = settingsOf({
      ...production,
      BASE_URL: 'https://paint.example/',
      HOST: '0.0.0.0',
      PORT: '8080',
      DATA_DIR: '/srv/data',
      DATABASE_URL: 'postgres://user@db.example/leads',
      REDIS_URL: 'redis://r.example',
      RECEIPT_RETENTION_DAYS: '30',
      UPSTREAM_URL: 'https://crm.example/hook?x=1',
      UPSTREAM_SECRET: `whsec_${key}`,
      UPSTREAM_HEADERS: 'X-Key: abc',
      UPSTREAM_TIMEOUT_MS: '60000',
      SUBMISSION_RETENTION_DAYS: '0',
      UPSTREAM_REDIRECT: 'confirmed',
      REDELIVERY: 'off',
      PREVIEW_SIGNING_KEYS: `${key}, ${key}`,
      RECEIPT_SIGNING_KEYS: publicOf(newKey()),
      AGENT_CREDENTIALS_FILE: '/srv/agents.json',
      SMTP_URL: 'smtps://m.example',
      MAIL_FROM: 'Paint Match <hello@paint.example>',
      MAIL_PER_MINUTE: '5',
      ACKNOWLEDGE: 'on',
      OPERATOR_NAME: 'Paint Match',
      OPERATOR_CONTACT: '+1 (555) 0100',
      CONTENT_DIR: '/srv/content',
      CONTRACTOR_ID: 'c-1',
      CONTRACTOR_NAME: 'Painters, Ltd',
      TRUST_PROXY: '10.0.0.0/8, ::1',
      ALLOWED_ORIGINS: 'https://a.example,https://b.example:8443',
      LOG_LEVEL: 'debug',
      CONFIRMATION_MINIMUM: 'homeowner_quote=page_email, newsletter=page',
      MCP: 'off',
      OAUTH: 'on',
      OAUTH_HOSTS: 'claude.ai, chat.example',
      MCP_ALLOWED_ORIGINS: 'https://claude.ai, vscode-file://vscode-app,file://,app://-',
      OPERATORS: ' Jo@Paint.example,al+console@bücher.example ',
      OPERATOR_CONSOLE: 'on',
      OPERATOR_TIME_ZONE: 'Europe/Berlin',
      METRICS_PORT: '9100',
    });
    expect(settings).toEqual({
      mode: 'production',
      host: '0.0.0.0',
      port: 8080,
      baseUrl: 'https://paint.example',
      dataDir: '/srv/data',
      database: { kind: 'postgres', url: 'postgres://user@db.example/leads' },
      redisUrl: 'redis://r.example',
      receiptRetentionDays: 30,
      submissionRetentionDays: 0,
      upstreamRedirect: 'confirmed',
      redelivery: 'off',
      upstream: {
        kind: 'http',
        url: 'https://crm.example/hook?x=1',
        secrets: [Buffer.from(key, 'base64')],
      },
      upstreamHeaders: [['X-Key', 'abc']],
      upstreamTimeoutMs: 60_000,
      previewSigningKeys: [Buffer.from(key, 'base64'), Buffer.from(key, 'base64')],
      receiptKeys: { signing: undefined, published: [expect.objectContaining({ crv: 'P-256' })] },
      credentialsFile: '/srv/agents.json',
      mail: { kind: 'smtp', url: 'smtps://m.example', from: 'Paint Match <hello@paint.example>' },
      mailPerMinute: 5,
      acknowledge: 'on',
      operator: { name: 'Paint Match', contact: '+1 (555) 0100' },
      contentDir: '/srv/content',
      contractor: { id: 'c-1', name: 'Painters, Ltd' },
      trustProxy: ['10.0.0.0/8', '::1'],
      allowedOrigins: ['https://a.example', 'https://b.example:8443'],
      logLevel: 'debug',
      confirmationMinimum: {
        ...Object.fromEntries(formNames.map((name) => [name, 'agent'])),
        homeowner_quote: 'page_email',
        newsletter: 'page',
      },
      mcp: 'off',
      oauth: 'off', // without MCP
      oauthHosts: ['claude.ai', 'chat.example'],
      mcpAllowedOrigins: ['https://claude.ai', 'vscode-file://vscode-app', 'file://', 'app://-'],
      operators: ['jo@paint.example', 'al+console@xn--bcher-kva.example'],
      operatorConsole: 'on',
      operatorTimeZone: 'Europe/Berlin',
      metricsPort: 9100,
    });
  });

  test('are the defaults for empty variables', () => {
    const empty = Object.fromEntries(names.map((name) => [name, '']));
    expect(settingsOf(empty)).toEqual(settingsOf({}));
  });
});

describe('invalid settings', () => {
  const bad: [VariableName, string][] = [
    ['NODE_ENV', 'prod'],
    ['NODE_ENV', 'Production'],
    ['NODE_ENV', 'production '],
    ['NODE_ENV', 'canary'],
    ['HOST', 'canary\nx'],
    ['PORT', '0'],
    ['PORT', '65536'],
    ['PORT', 'canary'],
    ['BASE_URL', 'ftp://canary.example'],
    ['BASE_URL', 'https://user:canary@paint.example'],
    ['BASE_URL', 'https://canary@paint.example'],
    ['BASE_URL', 'https://paint.example/?canary'],
    ['BASE_URL', 'https://paint.example#canary'],
    ['BASE_URL', 'https://paint.example?'],
    ['BASE_URL', 'https://paint.example/canary'],
    ['BASE_URL', 'https://paint.example/canary/'],
    ['BASE_URL', 'https://paint.example//'],
    ['BASE_URL', 'https://paint.example/.'],
    ['BASE_URL', 'https://paint.example\\canary'],
    ['BASE_URL', 'canary'],
    ['BASE_URL', 'https:canary.example'],
    ['BASE_URL', 'https:/canary.example'],
    ['BASE_URL', 'https:\\\\canary.example'],
    ['BASE_URL', 'https:///canary.example'],
    ['BASE_URL', 'ht\ntps://canary.example'],
    ['DATABASE_URL', 'mysql://canary'],
    ['DATABASE_URL', 'postgres://u@canary:abc/x'],
    ['REDIS_URL', 'http://canary.example'],
    ['RECEIPT_RETENTION_DAYS', '0'],
    ['RECEIPT_RETENTION_DAYS', '36501'],
    ['UPSTREAM_URL', 'canary:'],
    ['UPSTREAM_URL', 'canary'],
    ['UPSTREAM_URL', 'canary.example/hook'],
    ['UPSTREAM_URL', 'http://'],
    ['UPSTREAM_URL', 'http://canary:99999'],
    ['UPSTREAM_URL', 'https://user:canary@x.example'],
    ['UPSTREAM_TIMEOUT_MS', '99'],
    ['UPSTREAM_TIMEOUT_MS', '60001'],
    ['PREVIEW_SIGNING_KEYS', Buffer.alloc(31, 'canary').toString('base64')],
    ['PREVIEW_SIGNING_KEYS', `${key},canary`],
    ['PREVIEW_SIGNING_KEYS', ','],
    ['RECEIPT_SIGNING_KEYS', 'canary'],
    ['RECEIPT_SIGNING_KEYS', `${newKey()}canary`],
    ['PREVIEW_SIGNING_KEYS', Buffer.alloc(32).toString('base64')],
    ['PREVIEW_SIGNING_KEYS', `${key},${Buffer.alloc(64).toString('base64')}`],
    ['SMTP_URL', 'https://canary.example'],
    ['SMTP_URL', 'smtp://'],
    ['CONTRACTOR_ID', '  '],
    ['CONTRACTOR_NAME', '\t'],
    ['OPERATOR_NAME', ' '],
    ['METRICS_PORT', '3000'],
    ['MAIL_FROM', 'canary'],
    ['MAIL_PER_MINUTE', '0'],
    ['NOTIFY_EMAIL', 'canary'],
    ['NOTIFY_EMAIL', 'Canary <canary@x.example>'],
    ['NOTIFY_EMAIL', 'canary@x.example, b@x.example'],
    ['ALERT_EMAIL', `canary@${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.${'w'.repeat(60)}.example`],
    ['ALERT_EMAIL', '.canary@x.example'],
    ['CONTRACTOR_EMAIL', 'Canary <canary@x.example>'],
    ['CONTRACTOR_EMAIL', 'canary@x.example, b@x.example'],
    ['ACKNOWLEDGE', 'canary'],
    ['ACKNOWLEDGE', 'ON'],
    ['OPERATOR_NAME', 'canary\u0000'],
    ['OPERATOR_CONTACT', 'canary'],
    ['TRUST_PROXY', '10.0.0.0/33'],
    ['TRUST_PROXY', 'canary'],
    ['TRUST_PROXY', '127.0.0.1, 0.0.0.0/0'],
    ['TRUST_PROXY', '::/0'],
    ['TRUST_PROXY', '::ffff:0.0.0.0/96'],
    ['ALLOWED_ORIGINS', 'https://canary.example/path'],
    ['ALLOWED_ORIGINS', '*'],
    ['ALLOWED_ORIGINS', 'https://*.canary.example'],
    ['ALLOWED_ORIGINS', 'https://a.example, https://*:8443'],
    ['LOG_LEVEL', 'canary'],
    ['UPSTREAM_REDIRECT', 'canary'],
    ['MCP', 'canary'],
    ['OAUTH', 'canary'],
    ['OAUTH_HOSTS', 'https://canary.example'],
    ['OAUTH_HOSTS', 'canary.example:8443'],
    ['MCP_ALLOWED_ORIGINS', 'https://*.canary.example'],
    ['OPERATOR_CONSOLE', 'canary'],
    ['OPERATOR_TIME_ZONE', 'Europe/Canary'],
    ['METRICS_PORT', 'canary'],
  ];

  test.each(bad)('%s=%j is rejected in one sentence that names it without the value', (name, value) => {
    const others = name === 'SMTP_URL' ? { MAIL_FROM: 'a@b.example' } : {};
    const faults = faultsOf({ ...others, [name]: value });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(new RegExp(`^${name} [^\\n]+\\.$`));
    expect(faults[0]).not.toContain('canary');
  });

  test.each([
    ['PREVIEW_SIGNING_KEYS', 'short', 'openssl rand -base64 32'],
    ['RECEIPT_SIGNING_KEYS', 'short', 'openssl genpkey'],
  ])('%s is rejected with the command that creates a value', (name, value, command) => {
    expect(faultsOf({ [name]: value })).toEqual([expect.stringContaining(command)]);
  });

  test.each(['development', 'test', ''])('NODE_ENV=%j selects local mode', (NODE_ENV) => {
    expect(settingsOf({ NODE_ENV }).mode).toBe('local');
  });

  test('include a name of 201 code points, and no name of 200', () => {
    const name = '🎨'.repeat(200);
    expect(settingsOf({ OPERATOR_NAME: name }).operator.name).toBe(name);
    expect(faultsOf({ OPERATOR_NAME: `${name}🎨` })).toHaveLength(1);
  });

  test('are all reported at once', () => {
    const faults = faultsOf({ PORT: 'x', LOG_LEVEL: 'x', UPSTREAM_TIMEOUT_MS: 'x' });
    const names = faults.map((fault) => fault.split(' ')[0]);
    expect(names).toEqual(['PORT', 'UPSTREAM_TIMEOUT_MS', 'LOG_LEVEL']);
  });

  test('are reported after the faults of an earlier step', () => {
    const read = readSettings({ PORT: 'x' }, ['Before.']);
    expect(read).toEqual({ kind: 'invalid', faults: ['Before.', 'PORT must be a port number.'] });
    expect(readSettings({}, ['Before.'])).toEqual({ kind: 'invalid', faults: ['Before.'] });
  });

  test('include a missing variable beside an invalid one', () => {
    const faults = faultsOf({ NODE_ENV: 'production', PORT: 'x' });
    expect(faults).toEqual(['PORT must be a port number.', 'BASE_URL is required in production.']);
  });

  test.each([
    [{ NODE_ENV: 'production' }, ['BASE_URL']],
    [{ SMTP_URL: 'smtp://m.example' }, ['MAIL_FROM']],
    [{ ...production, UPSTREAM_URL: 'inbox:' }, ['CONTRACTOR_ID', 'CONTRACTOR_NAME']],
    [{ ...production, UPSTREAM_URL: 'https://x.example', CONTRACTOR_ID: 'c' }, ['CONTRACTOR_NAME']],
  ])('%j is rejected because %j is missing', (environment, missing) => {
    const faults = faultsOf(environment);
    expect(faults).toHaveLength(missing.length);
    for (const [index, name] of missing.entries()) expect(faults[index]).toMatch(`${name} is requ`);
  });
});

describe('secrets in files', () => {
  test('are possible for the variables with a secret, and for no others', () => {
    expect(names.filter((name) => fileVariable(name) !== undefined)).toEqual([
      'DATABASE_URL',
      'REDIS_URL',
      'UPSTREAM_URL',
      'UPSTREAM_SECRET',
      'UPSTREAM_HEADERS',
      'PREVIEW_SIGNING_KEYS',
      'RECEIPT_SIGNING_KEYS',
      'SMTP_URL',
    ]);
    expect(fileVariable('UPSTREAM_SECRET')).toBe('UPSTREAM_SECRET_FILE');
  });

  test.each(['\n', '\r\n', ''])('are read without a trailing line break %j', (end) => {
    const DATABASE_URL_FILE = temporaryFile(`sqlite:/a.db${end}`);
    expect(settingsOf({ DATABASE_URL_FILE }).database).toEqual({ kind: 'sqlite', path: '/a.db' });
  });

  test('are rejected if the variable itself is set too', () => {
    const REDIS_URL_FILE = temporaryFile('redis://canary.example');
    expect(faultsOf({ REDIS_URL_FILE, REDIS_URL: 'redis://canary.example' })).toEqual([
      'REDIS_URL and REDIS_URL_FILE are both set. Remove one of them.',
    ]);
  });

  test('are rejected if the file can’t be read', () => {
    expect(faultsOf({ UPSTREAM_SECRET_FILE: '/nonexistent/canary' })).toEqual([
      'UPSTREAM_SECRET_FILE names a file that can’t be read.',
    ]);
  });

  test('are rejected in a sentence without the value if the value is invalid', () => {
    const faults = faultsOf({ UPSTREAM_SECRET_FILE: temporaryFile('canary') });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatch(/^UPSTREAM_SECRET /);
    expect(faults[0]).not.toContain('canary');
  });
});

test('.env.example has for every variable its description, default and file variable', () => {
  const example = readFileSync(resolve(import.meta.dirname, '../../.env.example'), 'utf8');
  const blocks = example.trimEnd().split('\n\n').slice(1);
  const expected = names.map((name) => {
    const entry = { otherwise: undefined, ...variables[name] };
    const isPlain = /^(number|string)$/.test(typeof entry.otherwise) && name !== 'NODE_ENV';
    return [
      expect.stringMatching(new RegExp(`^# ${name}: \\S`)),
      isPlain ? `# Default: ${entry.otherwise}` : expect.stringMatching(/^# Default: \S/),
      ...(fileVariable(name) === undefined ? [] : [`# Or: ${fileVariable(name)}`]),
      `#${name}=`,
    ];
  });
  expect(blocks.map((block) => block.split('\n'))).toEqual(expected);
  expect(parseEnv(example)).toEqual({});
});
