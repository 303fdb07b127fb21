import { expect, test } from 'vitest';
import { NO_RECEIPT_KEYS } from '../../src/settings/receipt-keys.ts';
import { readSettings } from '../../src/settings/settings.ts';
import { greeting, type Started } from '../../src/start/greeting.ts';
import { testClock } from '../support/clock.ts';

const key = Buffer.alloc(32, 'canary').toString('base64');

function factsOf(environment: Record<string, string>, more: Partial<Started> = {}): Started {
  const read = readSettings(environment);
  if (read.kind === 'invalid') throw new Error(read.faults.join('\n'));
  return {
    settings: read.settings,
    envFile: { path: '/srv/app/.env', found: true },
    prepared: {
      previewSigningKeys: [],
      receiptKeys: NO_RECEIPT_KEYS,
      tokenFile: '/srv/data/agent-token',
      firstRun: true,
    },
    parts: { clock: testClock(), credentials: { state: () => ({ clients: 1 }) } },
    version: '1.2.3',
    onTerminal: true,
    ...more,
  };
}

const production = {
  NODE_ENV: 'production',
  BASE_URL: 'https://paint.example',
  UPSTREAM_URL: 'https://user.example/canary',
  CONTRACTOR_ID: 'c-1',
  CONTRACTOR_NAME: 'Painters',
};

function expectToFit(text: string) {
  const lines = text.trimEnd().split('\n');
  expect(lines.length).toBeLessThanOrEqual(12);
  for (const line of lines) expect(line.length).toBeLessThanOrEqual(80);
}

test('the greeting names the site and the console first, then the files of local mode, in 12 lines of 80 columns', () => {
  const operatorLink = `http://localhost:4000/operator/sign-in/${'t'.repeat(22)}`;
  const text = greeting(factsOf({ BASE_URL: 'http://localhost:4000/', DATA_DIR: '/srv/data' }, { operatorLink }));
  expectToFit(text);
  const [name, ...lines] = text.split('\n').filter((line) => line !== '');
  expect(name).toContain('Lead intake 1.2.3, local mode.');
  expect(lines).toEqual([
    '  Site     http://localhost:4000',
    `  Console  ${operatorLink}`,
    '           This link works once, within 15 minutes.',
    '  Agents   http://localhost:4000/agents',
    '  Token    /srv/data/agent-token',
    '  Mails    /srv/data/mail (files, nothing is sent)',
    '  Data     /srv/data (new)',
    'Try it with npm run demo. README.md says how to go live.',
  ]);
});

test('the greeting shows paths below the current folder as relative ones', () => {
  const here = process.cwd();
  const envFile = { path: `${here}/.env`, found: true };
  const lines = greeting(factsOf({ DATA_DIR: `${here}/data` }, { envFile })).split('\n');
  expect(lines[0]).toContain('Settings file: ./.env.');
  expect(lines).toContain('  Data     ./data (new)');
});

test('the greeting shows a sign-in link on a terminal, and no link on a pipe', () => {
  const operatorLink = 'http://localhost:4000/operator/sign-in/token';
  expect(greeting(factsOf({}, { operatorLink }))).toContain(`Console  ${operatorLink}\n`);
  expect(greeting(factsOf({}, { operatorLink, onTerminal: false }))).not.toContain('sign-in');
});

test.each([{}, production])(
  'the greeting names the .env file that was read or not found, with the settings %j',
  (environment) => {
    const words = (found: boolean, onTerminal: boolean) =>
      greeting(factsOf(environment, { envFile: { path: '/srv/app/.env', found }, onTerminal }));
    expect(words(true, true).split('\n')[0]).toContain('Settings file: /srv/app/.env.');
    expect(words(false, true).split('\n')[0]).toContain('No settings file /srv/app/.env.');
    expect(JSON.parse(words(true, false)).envFile).toBe('/srv/app/.env');
    expect(JSON.parse(words(false, false)).envFile).toBeNull();
  },
);

test('the greeting explains how to issue a token if there is no local token', () => {
  const prepared = {
    previewSigningKeys: [],
    receiptKeys: NO_RECEIPT_KEYS,
    tokenFile: undefined,
    firstRun: false,
  };
  const text = greeting(factsOf({}, { prepared }));
  expect(text).toContain('npm run credentials -- issue');
});

test.each([
  [
    { NODE_ENV: 'production', BASE_URL: 'https://paint.example' },
    {
      'form submissions': 'off, not set: UPSTREAM_URL',
      'agent actions': 'off, not set: UPSTREAM_URL, PREVIEW_SIGNING_KEYS and 1 more',
      subscriptions: 'off, not set: UPSTREAM_URL, SMTP_URL',
      metrics: 'off, not set: METRICS_PORT',
    },
  ],
  [
    {
      ...production,
      PREVIEW_SIGNING_KEYS: key,
      SMTP_URL: 'smtp://u:canary@m.example',
      MAIL_FROM: 'a@b.example',
    },
    {
      'form submissions': 'on',
      'agent actions': 'off, not set: AGENT_CREDENTIALS_FILE',
      subscriptions: 'on',
      metrics: 'off, not set: METRICS_PORT',
    },
  ],
  [
    {
      ...production,
      PREVIEW_SIGNING_KEYS: key,
      AGENT_CREDENTIALS_FILE: 'agents.json',
      METRICS_PORT: '9100',
    },
    {
      'form submissions': 'on',
      'agent actions': 'on',
      subscriptions: 'off, not set: SMTP_URL',
      metrics: 'on',
    },
  ],
])('the greeting lists features of production as on, or as off with the missing settings', (environment, features) => {
  const text = greeting(factsOf(environment));
  for (const [feature, state] of Object.entries(features)) {
    expect(text).toMatch(new RegExp(`^ +${feature} +${state}$`, 'm'));
  }
  expectToFit(text);
  expect(text).not.toContain('canary');
  expect(text).not.toContain(key);
});

test.each([
  [{ OPERATOR_CONSOLE: 'on' }, ['  Console  https://paint.example/operator/sign-in'], 'on'],
  [{}, [], 'off, not set: OPERATOR_CONSOLE'],
])(
  'the greeting of production with %j names the site, the agents, the clients and each feature',
  (more, console, on) => {
    const text = greeting(factsOf({ ...production, HOST: '0.0.0.0', PORT: '4100', ...more }));
    expect(text.split('\n')).toEqual([
      'Lead intake 1.2.3, production, on 0.0.0.0:4100. Settings file: /srv/app/.env.',
      '  Site     https://paint.example',
      ...console,
      '  Agents   https://paint.example/agents',
      '  Clients  1',
      '',
      '  form submissions  on',
      '  agent actions     off, not set: PREVIEW_SIGNING_KEYS, AGENT_CREDENTIALS_FILE',
      '  subscriptions     off, not set: SMTP_URL',
      '  metrics           off, not set: METRICS_PORT',
      `  operator console  ${on}`,
      '',
    ]);
  },
);

test('the greeting of local mode without a link names no console, and says that SMTP_URL sends mails', () => {
  const text = greeting(factsOf({ SMTP_URL: 'smtp://127.0.0.1', MAIL_FROM: 'a@b.example' }));
  expect(text).toContain('  Mails    sent through SMTP_URL\n');
  expect(text).not.toContain('Console');
  expect(text.split('\n').slice(1, 4)).toEqual([
    '',
    '  Site     http://127.0.0.1:3000',
    '  Agents   http://127.0.0.1:3000/agents',
  ]);
});

test('the greeting is one line of JSON with the same facts and no secrets on a pipe', () => {
  const environment = { ...production, PREVIEW_SIGNING_KEYS: key };
  const text = greeting(factsOf(environment, { onTerminal: undefined }));
  expect(text).toMatch(/^[^\n]+\n$/);
  expect(JSON.parse(text)).toMatchObject({
    level: 'info',
    time: '2026-09-01T12:00:00.000Z',
    msg: 'service started',
    version: '1.2.3',
    mode: 'production',
    site: 'https://paint.example',
    agents: 'https://paint.example/agents',
    reference: 'https://paint.example/reference',
    tokenFile: '/srv/data/agent-token',
    leads: 'http',
    mail: 'none',
    clients: 1,
  });
  expect(text).not.toContain('canary');
  expect(text).not.toContain(key);
});
