import { createHash, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  CHALLENGE,
  digestOfSecret,
  isVerified,
  makeFamily,
  makeSecret,
  refreshParts,
} from '../../src/oauth/secrets.ts';

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');
const challengeOf = (verifier: string) => createHash('sha256').update(verifier).digest('base64url');

test('a secret has 32 random bytes, a family 16, and each has its SHA-256 in hex', () => {
  const [secret, family] = [makeSecret(randomBytes), makeFamily(randomBytes)];
  expect([secret.secret, family.secret]).toEqual([
    expect.stringMatching(/^[\w-]{43}$/),
    expect.stringMatching(/^[\w-]{22}$/),
  ]);
  expect([secret.digest, family.digest]).toEqual([sha256(secret.secret), sha256(family.secret)]);
});

test('digestOfSecret returns a digest for exactly 43 characters of base64url', () => {
  const { secret, digest } = makeSecret(randomBytes);
  expect(digestOfSecret(secret)).toBe(digest);
  const others = [secret.slice(1), `${secret}x`, `x${secret}`, `${secret}\n`, `${secret.slice(1)}+`, ''];
  expect(others.map(digestOfSecret)).toEqual(others.map(() => undefined));
});

test('refreshParts splits exactly 65 characters of base64url', () => {
  const [family, secret] = [makeFamily(randomBytes), makeSecret(randomBytes)];
  const token = family.secret + secret.secret;
  expect(refreshParts(token)).toEqual({ family, secret });
  const others = [token.slice(1), `${token}x`, `${token}\n`, `${token.slice(1)}=`, `.${token.slice(1)}`, ''];
  expect(others.map(refreshParts)).toEqual(others.map(() => undefined));
});

test('CHALLENGE accepts exactly 43 characters of base64url', () => {
  const challenge = challengeOf('a'.repeat(43));
  expect([challenge, '-'.repeat(43), '_'.repeat(43)].every((each) => CHALLENGE.test(each))).toBe(true);
  const others = [challenge.slice(1), `${challenge}x`, `${challenge}\n`, `${challenge.slice(1)}=`, '+'.repeat(43), ''];
  expect(others.filter((each) => CHALLENGE.test(each))).toEqual([]);
});

describe('isVerified', () => {
  test.each([43, 44, 127, 128])('accepts the verifier of a challenge with %i characters', (length) => {
    const verifier = '~'.repeat(length);
    expect(isVerified(verifier, challengeOf(verifier))).toBe(true);
  });

  test('accepts every character that a verifier may have', () => {
    const verifier = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~';
    expect(isVerified(verifier, challengeOf(verifier))).toBe(true);
  });

  test.each([
    ['a short verifier', 'a'.repeat(42)],
    ['a long verifier', 'a'.repeat(129)],
    ['another character', `${'a'.repeat(43)}+`],
    ['a line break', `${'a'.repeat(43)}\n`],
  ])('refuses %s', (_what, verifier) => {
    expect(isVerified(verifier, challengeOf(verifier))).toBe(false);
  });

  test('refuses the challenge of another verifier, and a challenge of another length', () => {
    const [verifier, other] = ['a'.repeat(43), 'b'.repeat(43)];
    const challenges = [challengeOf(other), challengeOf(verifier).slice(1), `${challengeOf(verifier)}=`, ''];
    expect(challenges.map((challenge) => isVerified(verifier, challenge))).toEqual([false, false, false, false]);
  });
});
