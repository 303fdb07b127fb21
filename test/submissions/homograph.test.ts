/** Addresses whose domain mixes look-alike scripts (Unicode TR 39). */
import { expect, test } from 'vitest';
import { isMixedScript } from '../../src/submissions/homograph.ts';

test.each([
  undefined,
  '',
  'ada',
  'ada@paint.example',
  'ада@paint.example', // only the domain counts
  'ada@краска.example', // a label of one script
  'ada@paint.краска', // one script in each label
  'ada@χρώμα.example',
  'ada@2026-краска.example', // digits and hyphens belong to every script
  'ada@paint塗料.example', // Chinese, Japanese and Korean mix with Latin letters
  'ada@paintペンキ.example',
  'ada@paintひらがな.example',
  'ada@paint페인트.example',
  'ada@paintㄆㄊ.example',
  'ada@müller.example',
])('isMixedScript returns false for %j', (email) => {
  expect(isMixedScript(email)).toBe(false);
});

test.each([
  'ada@pаint.example', // Cyrillic а
  'ada@paint.exаmple',
  'ada@раint.paint.example',
  'ada@pαint.example', // Greek α
  'ada@xn--pint-43d.example', // the same Cyrillic letter in Punycode
  'a@b@pаint.example',
  'ada@краскаχ.example', // Cyrillic and Greek
  'ada@paintա.example', // Armenian ա
])('isMixedScript returns true for %j', (email) => {
  expect(isMixedScript(email)).toBe(true);
});
