import * as v from '@badrap/valita';
import { expect, test } from 'vitest';
import { checkShape } from '../../src/settings/shape.ts';

const even = v.number().assert((n) => n % 2 === 0, 'must be even');
const schema = v.object({ port: even, mail: v.object({ from: v.string() }), mode: v.literal('a').optional() });
const mail = { from: 'hello@paint.example' };

test.each([
  [{ port: 1, mail }, 'port: must be even'],
  [{ port: 'secret', mail }, 'port: must be number'],
  [{ port: 2 }, 'mail: is missing'],
  [{ port: 2, mail: {} }, 'mail.from: is missing'],
  [{ port: 2, mail: { ...mail, form: 'secret' } }, 'mail.form: is an unknown name'],
  [{ port: 2, mail, first: 'secret', second: 'secret' }, 'first: is an unknown name'],
  [{ port: 2, mail, mode: 'secret' }, 'mode: must be a'],
  ['secret', 'must be object'],
])('the fault of %j is %j', (value, why) => {
  expect(checkShape(schema, value)).toEqual({ kind: 'invalid', why });
});

test('the fault of the whole has the given name', () => {
  expect(checkShape(schema, 'secret', 'the file')).toEqual({ kind: 'invalid', why: 'the file: must be object' });
});

test('an assertion without a text says only that the value is not valid', () => {
  expect(
    checkShape(
      v.number().assert(() => false),
      1,
    ),
  ).toMatchObject({ kind: 'invalid', why: expect.any(String) });
});

test('a value of none of several types gets all of them', () => {
  const why = 'must be string or number';
  expect(checkShape(v.union(v.string(), v.number()), true)).toEqual({ kind: 'invalid', why });
});

test('a valid value is returned as it was parsed', () => {
  expect(
    checkShape(
      v.string().map((text) => text.trim()),
      ' a ',
    ),
  ).toEqual({ kind: 'valid', value: 'a' });
});
