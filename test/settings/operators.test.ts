/** `OPERATORS`, and the console that it turns on (reference §12.16, §20.3). */
import { describe, expect, test } from 'vitest';
import type { Environment } from '../../src/settings/environment.ts';
import { readSettings } from '../../src/settings/settings.ts';

const production = { NODE_ENV: 'production', BASE_URL: 'https://paint.example' };
const mail = { SMTP_URL: 'smtp://m.example', MAIL_FROM: 'a@paint.example' };
const OPERATORS = 'jo@paint.example';

const addresses = (count: number) => Array.from({ length: count }, (_, index) => `canary${index}@x.example`).join();

function faultsOf(environment: Environment): string[] {
  const read = readSettings(environment);
  return read.kind === 'invalid' ? read.faults : [];
}

function settingsOf(environment: Environment) {
  const read = readSettings(environment);
  return read.kind === 'valid' ? read.settings : expect.fail(read.faults.join(' '));
}

describe('OPERATORS', () => {
  test.each([
    ['jo@paint.example', ['jo@paint.example']],
    ['  Jo@Paint.EXAMPLE , al+console@bücher.example ', ['jo@paint.example', 'al+console@xn--bcher-kva.example']],
    ['jo@x.example,jo+1@x.example', ['jo@x.example', 'jo+1@x.example']],
    [addresses(20), addresses(20).split(',')],
  ])('%j is read as %j', (text, expected) => {
    expect(settingsOf({ OPERATORS: text }).operators).toEqual(expected);
  });

  test.each([
    'canary',
    ' ',
    ',',
    'canary@x.example,',
    'canary@x.example,,b@x.example',
    'canary@x.example b@x.example',
    'canary@x.example;b@x.example',
    'Canary <canary@x.example>',
    '.canary@x.example',
    `canary@${'x'.repeat(60)}.${'y'.repeat(60)}.${'z'.repeat(60)}.${'w'.repeat(60)}.example`,
    addresses(21),
  ])('%j is rejected in one sentence without the value', (text) => {
    expect(faultsOf({ OPERATORS: text })).toEqual([
      'OPERATORS must be 1 to 20 e-mail addresses without names, comma-separated.',
    ]);
  });

  test('is rejected if the value has two lines', () => {
    expect(faultsOf({ OPERATORS: 'jo@x.example\nal@x.example' })).toEqual(['OPERATORS must be one line.']);
  });

  test.each(['jo@x.example,Jo@X.example', 'jo@x.example,jo@x.example', 'jo@bücher.example,jo@xn--bcher-kva.example'])(
    '%j is rejected because an address is repeated',
    (text) => {
      expect(faultsOf({ OPERATORS: text })).toEqual(['OPERATORS must contain each address once.']);
    },
  );

  test('is rejected in production without SMTP_URL or an https BASE_URL, also if the console is off', () => {
    const faults = [
      'OPERATORS needs a mail server. Set SMTP_URL and MAIL_FROM.',
      'OPERATORS needs a BASE_URL with https:// in production.',
    ];
    const plain = { NODE_ENV: 'production', BASE_URL: 'http://paint.example', OPERATORS };
    expect(faultsOf(plain)).toEqual(faults);
    expect(faultsOf({ ...plain, OPERATOR_CONSOLE: 'off' })).toEqual(faults);
    expect(faultsOf({ ...plain, ...mail })).toEqual([faults[1]]);
    expect(faultsOf({ ...production, OPERATORS })).toEqual([faults[0]]);
    expect(faultsOf({ ...production, ...mail, OPERATORS })).toEqual([]);
  });

  test('needs neither SMTP_URL nor an https BASE_URL in local mode', () => {
    expect(faultsOf({ OPERATORS })).toEqual([]);
  });
});

describe('OPERATOR_CONSOLE in production', () => {
  test('is on by default only if OPERATORS is set', () => {
    expect(settingsOf(production).operatorConsole).toBe('off');
    expect(settingsOf({ ...production, ...mail, OPERATORS }).operatorConsole).toBe('on');
  });

  test.each(['on', 'off'] as const)('takes precedence over OPERATORS with the value %s', (value) => {
    const given = { ...production, ...mail, OPERATORS, OPERATOR_CONSOLE: value };
    expect(settingsOf(given).operatorConsole).toBe(value);
  });

  test('is rejected with one sentence if BASE_URL is not https', () => {
    const given = { NODE_ENV: 'production', BASE_URL: 'http://paint.example', OPERATOR_CONSOLE: 'on' };
    expect(faultsOf(given)).toEqual(['OPERATOR_CONSOLE needs a BASE_URL with https:// in production.']);
  });
});
