/** Ids and times in addresses and forms, which the service accepts only in its own spelling. */
import { expect, test } from 'vitest';
import { isIsoTime } from '../../src/platform/clock.ts';
import { isId, newId } from '../../src/platform/random.ts';

test('isId accepts each id that newId makes', () => {
  expect(isId(newId())).toBe(true);
});

test.each([
  '',
  '0190a000-0000-7000-8000-00000000abc',
  '0190a000-0000-7000-8000-00000000abcde',
  'x0190a000-0000-7000-8000-00000000abcd',
  '0190a000-0000-7000-8000-00000000abcd\n',
  '0190A000-0000-7000-8000-00000000ABCD',
  '0190a000000070008000-00000000abcd',
  '0190a000-0000-7000-00000000abcd',
  '0190a000-0000-7000-8000-0000-00000000abcd',
  '0190a000-0000-7000-8000-00000000abcg',
  '0190a000-000-7000-8000-00000000abcd',
])('isId refuses %j', (text) => {
  expect(isId(text)).toBe(false);
});

test('isIsoTime accepts a time of the store', () => {
  expect(isIsoTime('2026-09-01T12:00:00.000Z')).toBe(true);
});

test.each(['', 'x', '2026-09-01', '2026-09-01T12:00:00Z', '2026-09-01T12:00:00.000+00:00', '2026-02-30T12:00:00.000Z'])(
  'isIsoTime refuses %j',
  (text) => {
    expect(isIsoTime(text)).toBe(false);
  },
);
