/** Values of the command line, with the calls of a command that has one option. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import {
  durationOf,
  formatOf,
  isThisMachine,
  limitOf,
  oneOf,
  parseAddress,
  readAddress,
  readToken,
  serviceUrlOf,
  timeOf,
} from '../../src/commands/arguments.ts';
import type { Call } from '../../src/commands/command-line.ts';
import { temporaryFolder } from './run-service.ts';

/** Returns a call in which each option has this value. */
const callWith = (value?: string, json = false) =>
  ({
    text: () => value,
    terminal: { json, readLine: async (asked: string) => `${asked} Ada@Example.com` },
  }) as unknown as Call;

const usage = (sentence: string) => expect.objectContaining({ name: 'ExitFault', status: 2, message: sentence });

test.each([
  ['localhost', true],
  ['127.0.0.1', true],
  ['127.10.20.30', true],
  ['[::1]', true],
  ['xlocalhost', false],
  ['localhost.example', false],
  ['127.0.0.1.example', false],
  ['128.0.0.1', false],
  ['[::2]', false],
])('isThisMachine for %s: %s', (hostname, expected) => {
  expect(isThisMachine(hostname)).toBe(expected);
});

describe('parseAddress', () => {
  test('returns an address as rows store it', () => {
    expect(parseAddress(' ADA@Example.com\n', 'Bad.')).toBe('ada@example.com');
  });

  test('throws the sentence for what is no address', () => {
    expect(() => parseAddress('ada', 'Bad.')).toThrow(usage('Bad.'));
  });

  test('readAddress asks for the address if it is -', async () => {
    await expect(readAddress(callWith(), '-', 'Bad.')).rejects.toThrow(usage('Bad.'));
    expect(await readAddress(callWith(), 'eve@example.com', 'Bad.')).toBe('eve@example.com');
  });
});

test.each([
  ['2027-01-01', new Date('2027-01-01T00:00:00.000Z')],
  ['2027-01-01T12:00:00Z', new Date('2027-01-01T12:00:00.000Z')],
  [undefined, undefined],
])('timeOf returns the time of %s', (value, time) => {
  expect(timeOf(callWith(value), 'since')).toEqual(time);
});

test('timeOf names the option for an invalid time', () => {
  const sentence = '--since must be a date such as 2027-01-01 or 2027-01-01T12:00:00Z.';
  expect(() => timeOf(callWith('soon'), 'since')).toThrow(usage(sentence));
});

test.each([
  ['30m', 1_800_000],
  ['24h', 86_400_000],
  ['7d', 604_800_000],
  [undefined, 3_600_000],
  ['999999m', 59_999_940_000],
])('durationOf returns the milliseconds of %s', (value, ms) => {
  expect(durationOf(callWith(value), 'overlap', '1h')).toBe(ms);
});

test.each(['', 'm', '1', '1s', '-1m', '1m2', 'x1m', '1000000m'])('durationOf refuses %j', (value) => {
  const sentence = '--overlap must be a duration such as 30m, 24h or 7d.';
  expect(() => durationOf(callWith(value), 'overlap', '1h')).toThrow(usage(sentence));
});

test.each([
  ['1', 1],
  ['999999', 999_999],
  [undefined, undefined],
])('limitOf returns the number of %s', (value, limit) => {
  expect(limitOf(callWith(value))).toBe(limit);
});

test.each(['', '0', '01', '-1', '1000000', '1a', 'a1', '1.5'])('limitOf refuses %j', (value) => {
  expect(() => limitOf(callWith(value))).toThrow(usage('--limit must be a whole number from 1 to 999999.'));
});

test('oneOf returns an allowed value, and suggests the nearest one', () => {
  const values = ['pending', 'confirmed'] as const;
  expect(oneOf(callWith('pending'), 'status', values)).toBe('pending');
  expect(oneOf(callWith(), 'status', values)).toBeUndefined();
  expect(() => oneOf(callWith('pendig'), 'status', values)).toThrow(
    usage('There is no status pendig. Did you mean pending?'),
  );
});

test('formatOf returns the format of the option, of --json, or the default', () => {
  expect([formatOf(callWith('csv')), formatOf(callWith('jsonl'))]).toEqual(['csv', 'jsonl']);
  expect([formatOf(callWith(undefined, true)), formatOf(callWith('csv', true))]).toEqual(['jsonl', 'csv']);
  expect(formatOf(callWith(), 'jsonl')).toBe('jsonl');
  for (const value of [undefined, 'xml', '']) {
    expect(() => formatOf(callWith(value))).toThrow(usage('--format must be csv or jsonl.'));
  }
});

test.each([
  ['http://paint.example', 'http://paint.example'],
  ['https://paint.example/', 'https://paint.example'],
  ['HTTPS://Paint.example:8443/a/b/?x#y', 'https://paint.example:8443/a/b'],
])('serviceUrlOf returns for %s %s', (given, url) => {
  expect(serviceUrlOf(given)).toBe(url);
});

test.each([
  '',
  'nowhere',
  'ftp://x.example',
  'httpx://x.example',
  'xhttp://x.example',
  'http://a@x.example',
  'http://:a@x.example',
])('serviceUrlOf refuses %j', (given) => {
  const sentence = '--url must be an http:// or https:// address without a user name.';
  expect(() => serviceUrlOf(given)).toThrow(usage(sentence));
});

test('readToken returns the token of a file, and quotes nothing else that a file has', () => {
  const path = join(temporaryFolder(), 'token');
  const refused = expect.objectContaining({
    status: 1,
    message: `There is no token in ${path}. \`npm start\` in local mode creates it. For another file, use --token-file.`,
  });
  expect(() => readToken(path)).toThrow(refused);
  for (const content of ['', 'two words', 'café', 'two\nlines']) {
    writeFileSync(path, content);
    expect(() => readToken(path)).toThrow(refused);
  }
  writeFileSync(path, ' lia_!~ \n');
  expect(readToken(path)).toBe('lia_!~');
});
