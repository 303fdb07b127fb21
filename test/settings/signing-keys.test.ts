import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import {
  decryptFor,
  encryptFor,
  isEqual,
  isSignedFor,
  newSigningKey,
  parseSigningKey,
  signFor,
} from '../../src/settings/signing-keys.ts';

const [key, older] = [randomBytes(32), randomBytes(32)];

test('a new key is one line of base64, and is read again', () => {
  expect(newSigningKey()).toMatch(/^[\w+/]{43}=\n$/);
  expect(parseSigningKey(newSigningKey())).toHaveLength(32);
  expect(parseSigningKey(` ${key.toString('base64')}\n`)).toEqual(key);
  expect(parseSigningKey(randomBytes(31).toString('base64'))).toBeUndefined();
});

describe('signFor', () => {
  test('signs with the first key, and every key verifies', () => {
    const signature = signFor('purpose:', [older, key], 'text');
    expect(signature).toMatch(/^[\w-]{43}$/);
    expect(isSignedFor('purpose:', [key, older], 'text', signature)).toBe(true);
    expect(isSignedFor('purpose:', [key], 'text', signature)).toBe(false);
    expect(isSignedFor('purpose:', [], 'text', signature)).toBe(false);
  });

  test('gives another signature for another purpose, another text and another key', () => {
    const signatures = [
      signFor('a', [key], 'text'),
      signFor('b', [key], 'text'),
      signFor('a', [key], 'texts'),
      signFor('a', [older], 'text'),
    ];
    expect(new Set(signatures).size).toBe(4);
    expect(signFor('a', [key], 'text')).toBe(signatures[0]);
  });

  test('is HMAC-SHA256 over purpose and text, in base64url', () => {
    expect(signFor('what do ya want ', [Buffer.from('Jefe')], 'for nothing?')).toBe(
      // RFC 4231 §4.3
      Buffer.from('5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843', 'hex').toString('base64url'),
    );
  });

  test('throws without a key', () => {
    expect(() => signFor('a', [], 'text')).toThrow('There is no key to sign with.');
  });
});

describe('encryptFor', () => {
  test.each(['', 'text', 'ü'.repeat(1_000)])('is undone by decryptFor with any of the keys', (text) => {
    const encrypted = encryptFor('a', [older, key], 'context', text);
    expect(encrypted).toMatch(/^[\w-]+$/);
    expect(decryptFor('a', [key, older], 'context', encrypted)).toBe(text);
  });

  test('is not undone by another key, purpose or context, or after a change', () => {
    const encrypted = encryptFor('a', [key], 'context', 'text');
    expect(decryptFor('a', [older], 'context', encrypted)).toBeUndefined();
    expect(decryptFor('a', [], 'context', encrypted)).toBeUndefined();
    expect(decryptFor('b', [key], 'context', encrypted)).toBeUndefined();
    expect(decryptFor('a', [key], 'contexts', encrypted)).toBeUndefined();
    const bytes = Buffer.from(encrypted, 'base64url');
    for (const at of bytes.keys()) {
      const changed = Buffer.from(bytes);
      changed.writeUInt8((bytes[at] ?? 0) ^ 1, at);
      expect(decryptFor('a', [key], 'context', changed.toString('base64url'))).toBeUndefined();
    }
    for (const length of [0, 1, 12, 27, 28]) {
      const cut = bytes.subarray(0, length).toString('base64url');
      expect(decryptFor('a', [key], 'context', cut)).toBeUndefined();
    }
  });

  test('never gives the same result twice, and throws without a key', () => {
    expect(encryptFor('a', [key], 'context', 'text')).not.toBe(encryptFor('a', [key], 'context', 'text'));
    expect(() => encryptFor('a', [], 'context', 'text')).toThrow('There is no key to encrypt with.');
  });
});

test.each([
  ['a', 'a', true],
  ['a', 'b', false],
  ['a', 'aa', false],
  ['', '', true],
  ['é', 'e', false],
])('isEqual(%j, %j) is %s', (expected, given, result) => {
  expect(isEqual(expected, given)).toBe(result);
});
