/** Settings that several variables form together, and their defaults (reference §20.3). */
import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  type BasicSettings,
  contractorOf,
  databaseOf,
  mailOf,
  oauthOf,
  parseSender,
  upstreamOf,
} from '../../src/settings/groups.ts';

const local: BasicSettings = { mode: 'local', host: '127.0.0.1', port: 3000, dataDir: '/data', operators: [] };
const production: BasicSettings = { ...local, mode: 'production' };

test.each([
  [undefined, { kind: 'sqlite', path: '/data/service.db' }],
  ['sqlite::memory:', { kind: 'sqlite', path: ':memory:' }],
  ['sqlite:/var/a.db', { kind: 'sqlite', path: '/var/a.db' }],
  ['sqlite:///var/a.db', { kind: 'sqlite', path: '/var/a.db' }],
  ['sqlite:a//b.db', { kind: 'sqlite', path: resolve('a/b.db') }],
  ['sqlite:a.db', { kind: 'sqlite', path: resolve('a.db') }],
  ['postgres://127.0.0.1/sqlite:', { kind: 'postgres', url: 'postgres://127.0.0.1/sqlite:' }],
])('DATABASE_URL=%s means %o', (url, database) => {
  expect(databaseOf(url, local)).toEqual(database);
});

test('the upstream is the inbox in local mode and none in production, unless it is given', () => {
  const secrets = [Buffer.from('secret')];
  expect(upstreamOf(undefined, secrets, local)).toEqual({ kind: 'inbox' });
  expect(upstreamOf(undefined, secrets, production)).toEqual({ kind: 'none' });
  expect(upstreamOf('inbox:', secrets, production)).toEqual({ kind: 'inbox' });
  const url = 'https://receiver.example/';
  expect(upstreamOf(url, secrets, production)).toEqual({ kind: 'http', url, secrets });
  expect(upstreamOf(url, undefined, local)).toEqual({ kind: 'http', url, secrets: [] });
});

test('mail needs an address and a sender. Otherwise local mode writes files and production sends nothing', () => {
  const [url, from] = ['smtp://mail.example', 'hello@paint.example'];
  for (const settings of [local, production]) expect(mailOf(url, from, settings)).toEqual({ kind: 'smtp', url, from });
  const files = { kind: 'files', folder: '/data/mail', from: 'service@localhost.invalid' };
  expect(mailOf(undefined, undefined, local)).toEqual(files);
  expect(mailOf(url, undefined, local)).toEqual(files);
  expect(mailOf(undefined, from, local)).toEqual({ ...files, from });
  for (const [to, by] of [[undefined, undefined] as const, [url, undefined] as const, [undefined, from] as const]) {
    expect(mailOf(to, by, production)).toEqual({ kind: 'none' });
  }
});

test('the contractor is a sample in local mode, and needs id and name in production', () => {
  expect(contractorOf(undefined, undefined, local)).toEqual({
    id: 'sample-contractor',
    name: 'Sample Painting Company',
  });
  expect(contractorOf('c-1', 'Ada’s', local)).toEqual({ id: 'c-1', name: 'Ada’s' });
  expect(contractorOf('c-1', 'Ada’s', production)).toEqual({ id: 'c-1', name: 'Ada’s' });
  expect(contractorOf('c-1', undefined, production)).toBeUndefined();
  expect(contractorOf(undefined, 'Ada’s', production)).toBeUndefined();
});

describe('OAuth', () => {
  const secure = 'https://paint.example';
  test.each([
    [undefined, 'production', 'on', secure, 'on'],
    ['on', 'production', 'on', 'HTTPS://paint.example', 'on'],
    ['on', 'production', 'on', 'http://paint.example/?https://x', 'insecure'],
    ['on', 'local', 'on', 'http://127.0.0.1:3000', 'on'],
    ['off', 'production', 'on', secure, 'off'],
    ['on', 'production', 'off', secure, 'off'],
  ] as const)('given as %s, in mode %s, with MCP %s, at %s, is %s', (given, mode, mcp, baseUrl, oauth) => {
    expect(oauthOf(given, { mode, mcp, baseUrl })).toBe(oauth);
  });
});

test.each([
  ['hello@paint.example', { name: '', address: 'hello@paint.example' }],
  ['Paint Match <hello@paint.example>', { name: 'Paint Match', address: 'hello@paint.example' }],
  ['"Match, Paint" <hello@paint.example>', { name: 'Match, Paint', address: 'hello@paint.example' }],
  ['"Paint" Match <hello@paint.example>', { name: '"Paint" Match', address: 'hello@paint.example' }],
  ['Paint "Match" <hello@paint.example>', { name: 'Paint "Match"', address: 'hello@paint.example' }],
  ['<hello@paint.example>', { name: '', address: 'hello@paint.example' }],
])('MAIL_FROM=%s means %o', (from, sender) => {
  expect(parseSender(from)).toEqual(sender);
});
