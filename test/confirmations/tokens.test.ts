/** Secrets, page tokens and codes of confirmations (reference §6.12), computed again from their definition. */
import { createHash, createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  codeOf,
  digestOfSecret,
  isCode,
  isPageToken,
  openSecret,
  sealPage,
  sealSecret,
  secretOf,
  typedCode,
} from '../../src/confirmations/tokens.ts';
import { decryptFor } from '../../src/settings/signing-keys.ts';

const [key, older, other] = ['key', 'older', 'other'].map((text) => Buffer.alloc(32, text)) as [Buffer, Buffer, Buffer];
const NOW = new Date('2026-09-01T12:00:00.000Z');
const TEN_MINUTES_MS = 600_000;
const later = (ms: number) => new Date(NOW.getTime() + ms);
const hmac = (purpose: string, text: string) => createHmac('sha256', key).update(purpose + text);

test('secretOf derives 22 characters from the preview token and the id', () => {
  const wanted = createHmac('sha256', 'preview').update('id').digest('base64url').slice(0, 21);
  const secret = secretOf('id', 'preview');
  expect(secret).toMatch(/^[\w-]{21}[A-Za-z0-9]$/);
  expect(secret.slice(0, 21)).toBe(wanted);
  expect(
    new Set([secret, secretOf('id', 'preview'), secretOf('id 2', 'preview'), secretOf('id', 'preview 2')]).size,
  ).toBe(3);
});

test('digestOfSecret returns the SHA-256 for exactly 22 characters that end with a letter or digit', () => {
  for (const secret of ['Az09_-'.padEnd(21, '-').concat('x'), 'a'.repeat(22), '0'.repeat(22), 'Z'.repeat(22)]) {
    expect(digestOfSecret(secret)).toBe(createHash('sha256').update(secret).digest('hex'));
  }
  const a = 'a'.repeat(21);
  const refused = ['', 'x', a, `${a}ab`, `${a}-`, `${a}_`, `${a}a\n`, `+${a}`, `${a.slice(1)}.a`, `${a}+`];
  expect(refused.filter((each) => digestOfSecret(each) !== undefined)).toEqual([]);
});

describe('page token', () => {
  const token = sealPage([key, older], 'id', NOW);
  const [until = '', signature = ''] = token.split('.');

  test('has its end and the signature of the first key for one purpose', () => {
    expect(until).toBe(String(NOW.getTime() + TEN_MINUTES_MS));
    expect(signature).toBe(hmac('lead-intake page v1\n', `id\n${until}`).digest('base64url'));
  });

  test('is valid for ten minutes, for one confirmation, with any present key', () => {
    expect(isPageToken([other, key], 'id', token, NOW)).toBe(true);
    expect(isPageToken([key], 'id', token, later(TEN_MINUTES_MS - 1))).toBe(true);
    expect(isPageToken([key], 'id', token, later(TEN_MINUTES_MS))).toBe(false);
    expect(isPageToken([key], 'id 2', token, NOW)).toBe(false);
    expect(isPageToken([older, other], 'id', token, NOW)).toBe(false);
    expect(isPageToken([], 'id', token, NOW)).toBe(false);
  });

  test.each([
    '',
    'x',
    signature,
    `.${signature}`,
    `${until}.`,
    `${Number(until) + 1}.${signature}`,
    ` ${token}`,
    `${token}\n`,
    `${token}x`,
    `x${token}`,
    `0${token}`,
    `${until}.${signature.slice(1)}`,
  ])('%j is refused', (given) => {
    expect(isPageToken([key], 'id', given, NOW)).toBe(false);
  });

  test.each(['1', '9'.repeat(16)])('with the end %s is checked as signed', (end) => {
    const signed = `${end}.${hmac('lead-intake page v1\n', `id\n${end}`).digest('base64url')}`;
    expect(isPageToken([key], 'id', signed, new Date(0))).toBe(true);
  });

  test.each(['1x', '9'.repeat(17), '-1', '1e9'])('with the signed end %s is refused', (end) => {
    const signed = `${end}.${hmac('lead-intake page v1\n', `id\n${end}`).digest('base64url')}`;
    expect(isPageToken([key], 'id', signed, new Date(-10))).toBe(false);
  });
});

describe('code', () => {
  test('has six digits of the signature of id and number, with leading zeros', () => {
    const numbers = Array.from({ length: 200 }, (_, index) => index);
    const wanted = numbers.map((number) => {
      const bytes = hmac('lead-intake code v1\n', `id\n${number}`).digest();
      return String(bytes.readBigUInt64BE() % 1_000_000n).padStart(6, '0');
    });
    expect(numbers.map((number) => codeOf([key], 'id', number))).toEqual(wanted);
    expect(wanted.some((code) => code.startsWith('0'))).toBe(true);
  });

  test('is right under any present key, for its confirmation and number', () => {
    const code = codeOf([key], 'id', 1);
    expect(isCode([other, key], 'id', 1, code)).toBe(true);
    expect([isCode([other], 'id', 1, code), isCode([key], 'id', 2, code), isCode([key], 'x', 1, code)]).toEqual([
      false,
      false,
      false,
    ]);
    expect(isCode([key], 'id', 1, `${code}0`)).toBe(false);
    expect(isCode([], 'id', 1, code)).toBe(false);
  });

  test('may be typed with blanks, dashes and invisible characters, and with nothing else', () => {
    expect(typedCode(' 12\t3\u2013-4\u200b5\u00a06\n')).toBe('123456');
    expect(typedCode('12.34/5+6a')).toBe('12.34/5+6a');
  });
});

test('sealSecret encrypts for one message and one purpose, and openSecret needs the key', () => {
  const sealed = sealSecret([key, older], 'id.1', 'secret');
  expect(sealed).not.toContain('secret');
  expect(openSecret([other, key], 'id.1', sealed)).toBe('secret');
  expect([openSecret([older], 'id.1', sealed), openSecret([key], 'id.2', sealed)]).toEqual([undefined, undefined]);
  expect(decryptFor('lead-intake message v1\n', [key], 'id.1', sealed)).toBe('secret');
});
