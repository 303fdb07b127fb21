import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

test('the greeting names all addresses and files of local mode in at most 14 lines', () => {
  const text = greeting(factsOf({ BASE_URL: 'http://localhost:4000/', DATA_DIR: '/srv/data' }));
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(14);
  for (const words of [
    '1.2.3',
    'local mode',
    'http://localhost:4000/agents',
    'http://localhost:4000/reference',
    'npm run inbox -- list',
    '/srv/data/mail',
    '/srv/data/agent-token',
    'curl',
    'NODE_ENV=production',
  ]) {
    expect(text).toContain(words);
  }
});

test('the greeting shows a sign-in link on its own line on a terminal, and no link on a pipe', () => {
  const operatorLink = 'http://localhost:4000/operator/sign-in/token';
  const text = greeting(factsOf({}, { operatorLink }));
  expect(text).toContain(`Operator   ${operatorLink} (one-time link, valid 15 minutes)`);
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(14);
  expect(greeting(factsOf({}, { operatorLink, onTerminal: false }))).not.toContain('sign-in');
});

test('the greeting shows a working example command, even if the folder has special characters', async () => {
  const folder = join(mkdtempSync(join(tmpdir(), 'greeting-')), "it's a $folder");
  mkdirSync(folder);
  const tokenFile = join(folder, 'agent-token');
  writeFileSync(tokenFile, 'the-token\n');
  const requests: unknown[] = [];
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const { method, url, headers } = request;
    const body = JSON.parse(Buffer.concat(chunks).toString());
    requests.push({ method, url, authorization: headers.authorization, body });
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const prepared = {
    previewSigningKeys: [],
    receiptKeys: NO_RECEIPT_KEYS,
    tokenFile,
    firstRun: true,
  };
  const text = greeting(factsOf({ BASE_URL: `http://127.0.0.1:${port}` }, { prepared }));
  const command = text.split('\n').find((line) => line.includes('curl')) ?? '';
  const shell = spawn('sh', ['-c', command], { stdio: 'ignore' });
  const [status] = await once(shell, 'close');
  server.close();
  expect(status).toBe(0);
  expect(requests).toEqual([
    {
      method: 'POST',
      url: '/api/agent/actions/homeowner_quote/preview',
      authorization: 'Bearer the-token',
      body: { name: 'Ada Lovelace', email: 'ada@example.com', postal_code: '94110' },
    },
  ]);
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

test('the greeting explains how to issue a token if there is no local token, and shows no example command', () => {
  const prepared = {
    previewSigningKeys: [],
    receiptKeys: NO_RECEIPT_KEYS,
    tokenFile: undefined,
    firstRun: false,
  };
  const text = greeting(factsOf({}, { prepared }));
  expect(text).toContain('npm run credentials -- issue');
  expect(text).not.toContain('curl');
});

test.each([
  [
    { NODE_ENV: 'production', BASE_URL: 'https://paint.example' },
    {
      'form submissions': 'off: UPSTREAM_URL is not set',
      'agent actions': 'off: UPSTREAM_URL, PREVIEW_SIGNING_KEYS, AGENT_CREDENTIALS_FILE are not set',
      subscriptions: 'off: UPSTREAM_URL, SMTP_URL are not set',
      metrics: 'off: METRICS_PORT is not set',
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
      'agent actions': 'off: AGENT_CREDENTIALS_FILE is not set',
      subscriptions: 'on',
      metrics: 'off: METRICS_PORT is not set',
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
      subscriptions: 'off: SMTP_URL is not set',
      metrics: 'on',
    },
  ],
])('the greeting lists features of production as on, or as off with the missing settings', (environment, features) => {
  const text = greeting(factsOf(environment));
  for (const [feature, state] of Object.entries(features)) {
    expect(text).toMatch(new RegExp(`^ +${feature} +${state}$`, 'm'));
  }
  expect(text.trimEnd().split('\n').length).toBeLessThanOrEqual(14);
  expect(text).not.toContain('canary');
  expect(text).not.toContain(key);
});

test('the greeting is one line of JSON with the same facts and no secrets on a pipe', () => {
  const environment = { ...production, PREVIEW_SIGNING_KEYS: key };
  const text = greeting(factsOf(environment, { onTerminal: undefined }));
  expect(text).toMatch(/^[^\n]+\n$/);
  expect(JSON.parse(text)).toMatchObject({
    level: 'info',
    time: '2026-09-01T12:00:00.000Z',
    version: '1.2.3',
    mode: 'production',
    site: 'https://paint.example',
    reference: 'https://paint.example/reference',
    leads: 'http',
    mail: 'none',
    clients: 1,
  });
  expect(text).not.toContain('canary');
  expect(text).not.toContain(key);
});
