import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { digestOfToken } from '../../src/credentials/file.ts';
import { generateToken, isIssuedToken } from '../../src/credentials/tokens.ts';

test('generateToken returns the prefix, 43 letters or digits and a checksum of six', () => {
  for (let round = 0; round < 200; round += 1) {
    const token = generateToken();
    expect(token).toMatch(/^lia_[0-9A-Za-z]{49}$/);
    expect(isIssuedToken(token)).toBe(true);
  }
});

test('generateToken returns 500 different tokens', () => {
  expect(new Set(Array.from({ length: 500 }, generateToken)).size).toBe(500);
});

test('isIssuedToken returns false after any change of a character or the length', () => {
  const token = generateToken();
  for (let at = 0; at < token.length; at += 1) {
    const changed = token[at] === 'x' ? 'y' : 'x';
    expect(isIssuedToken(token.slice(0, at) + changed + token.slice(at + 1))).toBe(false);
  }
  for (const other of ['', 'lia_', `${token} `, token.slice(1), token + token]) {
    expect(isIssuedToken(other)).toBe(false);
  }
});

test('digestOfToken returns the SHA-256 in hex', () => {
  expect(digestOfToken('anything')).toBe(createHash('sha256').update('anything').digest('hex'));
});
