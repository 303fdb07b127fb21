/** Secrets of sign-in links and cookies, and the names of operators (reference §12.2). */
import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestOfToken, nameOfOperator, newLink, newToken } from '../../src/console/links.ts';

test('newToken returns 22 characters of base64url, which differ each time', () => {
  const made = Array.from({ length: 50 }, newToken);
  expect(made.filter((token) => !/^[\w-]{21}[AQgw]$/.test(token))).toEqual([]);
  expect(new Set(made).size).toBe(50);
});

test('digestOfToken returns the SHA-256 for exactly 22 characters of base64url', () => {
  for (const token of [newToken(), '-'.repeat(22), '_'.repeat(22), 'Az09'.padEnd(22, 'a')]) {
    expect(digestOfToken(token)).toBe(createHash('sha256').update(token).digest('hex'));
  }
  const a = 'a'.repeat(21);
  const refused = ['', a, `${a}aa`, `x${a}a`, `${a}a\n`, `\n${a}a`, `${a}+`, `${a}=`, `${a}.`, ` ${a}`];
  expect(refused.filter((token) => digestOfToken(token) !== undefined)).toEqual([]);
});

test('nameOfOperator returns the name without blanks at its ends, in Unicode form NFC', () => {
  expect(nameOfOperator('  Jo  ')).toBe('Jo');
  expect(nameOfOperator('Jose\u0301')).toBe('Jos\u00e9');
  expect(nameOfOperator('x'.repeat(80))).toBe('x'.repeat(80));
  const refused = ['', '   ', 'x'.repeat(81), 'a\nb', 'a\u202eb', '\u200b'];
  expect(refused.filter((name) => nameOfOperator(name) !== undefined)).toEqual([]);
});

test('newLink returns the address with the secret, and a row with its digest that is valid for 15 minutes', () => {
  const own = { name: 'Jo', mailed: 1 as const, message: 'm', page: '/operator/leads' };
  const { url, row } = newLink({ ...own, now: new Date('2026-09-01T12:00:00.000Z'), baseUrl: 'https://paint.example' });
  const token = url.split('/').at(-1) ?? '';
  expect(url).toBe(`https://paint.example/operator/sign-in/${token}`);
  expect(row).toEqual({
    ...own,
    digest: createHash('sha256').update(token).digest('hex'),
    created_at: '2026-09-01T12:00:00.000Z',
    expires_at: '2026-09-01T12:15:00.000Z',
    used_at: null,
  });
});
