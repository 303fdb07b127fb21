/** Random ids, numbers and keys. */
import { createPrivateKey } from 'node:crypto';
import { expect, test } from 'vitest';
import { newId, newPrivateKey, randomInt, randomSecret } from '../../src/platform/random.ts';

test('newId makes ids that differ, and whose time grows', () => {
  const ids = Array.from({ length: 100 }, newId);
  expect(new Set(ids).size).toBe(100);
  const times = ids.map((each) => each.slice(0, '019a0b1c-2d3e'.length));
  expect(times.toSorted()).toEqual(times);
});

test.each([
  [-1, [0]],
  [0, [0]],
  [1, [0]],
  [2, [0, 1]],
  [3, [0, 1, 2]],
])('randomInt(%i) returns each of %j', (limit, expected) => {
  const drawn = new Set(Array.from({ length: 200 }, () => randomInt(limit)));
  expect([...drawn].toSorted()).toEqual(expected);
});

test('randomSecret has the given number of bytes', () => {
  const [one, other] = [randomSecret(32), randomSecret(32)];
  expect([one.length, one.equals(other)]).toEqual([32, false]);
});

test('newPrivateKey is a PEM block of PKCS #8 with a key of P-256', () => {
  const pem = newPrivateKey();
  expect(pem).toMatch(/^-----BEGIN PRIVATE KEY-----\n/);
  expect(createPrivateKey(pem).asymmetricKeyDetails?.namedCurve).toBe('prime256v1');
});
