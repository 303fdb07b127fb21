import { expect, test } from 'vitest';
import { nearest } from '../../src/settings/did-you-mean.ts';

const names = ['SMTP_URL', 'BASE_URL', 'PORT', '--json'];

test.each([
  ['SMTP_URL', 'SMTP_URL'],
  ['SMPT_URL', 'SMTP_URL'],
  ['STMP_URLS', 'SMTP_URL'],
  ['URL', undefined],
  // Half of the letters may differ, and two letters of a short name.
  ['SMTP_XYZW', 'SMTP_URL'],
  ['SMTPXYZWV', undefined],
  ['PO', 'PORT'],
  ['P', undefined],
  ['--jsno', '--json'],
  ['--j-son', '--json'],
  ['-', undefined],
  ['', undefined],
])('the nearest name to %j is %s', (typed, name) => {
  expect(nearest(typed, names)).toBe(name);
});

test('nearest returns undefined if there are no names', () => {
  expect(nearest('PORT', [])).toBeUndefined();
});

test('hyphens in front of a name count as no letters', () => {
  expect(nearest('----ab', ['----cd'])).toBe('----cd');
  expect(nearest('----abc', ['----xyz'])).toBeUndefined();
});
