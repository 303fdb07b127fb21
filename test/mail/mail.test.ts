import { expect, test } from 'vitest';
import { reasonOf } from '../../src/mail/mail.ts';

const withCode = (code: unknown) => Object.assign(new TypeError('jane@x.example'), { code });

test.each([
  ['a code', withCode('ETIMEDOUT'), 'ETIMEDOUT'],
  ['a code with digits', withCode('E2_BIG'), 'E2_BIG'],
  ['the longest code', withCode(`E${'X'.repeat(40)}`), `E${'X'.repeat(40)}`],
  ['a text too long for a code', withCode(`E${'X'.repeat(41)}`), 'TypeError'],
  ['a text too short for a code', withCode('E'), 'TypeError'],
  ['a code with a text after it', withCode('EENVELOPE jane@x.example'), 'TypeError'],
  ['a code with a text before it', withCode('jane@x.example EENVELOPE'), 'TypeError'],
  ['a code in small letters', withCode('etimedout'), 'TypeError'],
  ['a number as code', withCode(550), 'TypeError'],
  ['an array as code', withCode(['EENVELOPE']), 'TypeError'],
  ['an error without a code', new RangeError('jane@x.example'), 'RangeError'],
  ['a thrown string', 'jane@x.example', 'unknown'],
  ['null', null, 'unknown'],
  ['undefined', undefined, 'unknown'],
])('reasonOf returns the code or the type, and never the message, for %s', (_name, error, reason) => {
  expect(reasonOf(error)).toBe(reason);
});
