/** Valid and invalid values of `RECEIPT_SIGNING_KEYS` (reference §7.3). */
import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, test } from 'vitest';
import { parseReceiptKeys } from '../../src/settings/receipt-keys.ts';
import { newKey, publicOf } from '../support/receipts.ts';

const [first, second] = [newKey(), newKey()];

describe('parseReceiptKeys', () => {
  test('signs with the first private key, and publishes each key once, in order, by thumbprint', async () => {
    const keys = parseReceiptKeys([publicOf(second), first, second].join(''));
    const published = keys?.published ?? [];
    expect(published).toHaveLength(2);
    expect(keys?.signing?.kid).toBe(published[1]?.kid);
    for (const jwk of published) {
      expect(jwk).toEqual({
        kty: 'EC',
        crv: 'P-256',
        x: expect.any(String),
        y: expect.any(String),
        kid: await calculateJwkThumbprint(jwk),
        use: 'sig',
        alg: 'ES256',
      });
    }
  });

  test('publishes no private part of a key', () => {
    expect(JSON.stringify(parseReceiptKeys(first)?.published)).not.toContain('"d"');
  });

  test('returns no signing key if all keys are public', () => {
    expect(parseReceiptKeys(publicOf(first))).toMatchObject({
      signing: undefined,
      published: [{ crv: 'P-256' }],
    });
  });

  test('accepts line breaks of any kind, and none at the end', () => {
    const expected = parseReceiptKeys(first)?.published;
    for (const text of [first.trim(), first.replaceAll('\n', '\r\n'), `\n\n${first}\n`]) {
      expect(parseReceiptKeys(text)?.published).toEqual(expected);
    }
  });
});

const pem = (of: 'rsa' | 'ec' | 'ed25519' | 'sec1') => {
  const pkcs8 = { format: 'pem', type: 'pkcs8' } as const;
  if (of === 'rsa') {
    return generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey.export(pkcs8);
  }
  if (of === 'ed25519') return generateKeyPairSync('ed25519').privateKey.export(pkcs8);
  const { privateKey } = generateKeyPairSync('ec', {
    namedCurve: of === 'ec' ? 'P-384' : 'P-256',
  });
  return privateKey.export(of === 'ec' ? pkcs8 : { format: 'pem', type: 'sec1' });
};

test.each([
  ['empty text', ''],
  ['white space', ' \n'],
  ['words', 'a key'],
  ['an RSA key', pem('rsa')],
  ['an Ed25519 key', pem('ed25519')],
  ['a P-384 key', pem('ec')],
  ['a P-256 key as SEC1', pem('sec1')],
  ['an RSA key after a valid one', first + pem('rsa')],
  ['words after a valid key', `${first}and more`],
  ['a private key labelled as public', first.replaceAll('PRIVATE', 'PUBLIC')],
  ['a public key labelled as private', publicOf(first).replaceAll('PUBLIC', 'PRIVATE')],
  ['a block with another end label', first.replace('END PRIVATE', 'END PUBLIC')],
  ['a block without an end', first.replace(/-----END.*/s, '')],
  ['a truncated key', first.replace(/^(.*\n.{30}).*\n/, '$1\n')],
])('parseReceiptKeys returns undefined for %s', (_name, text) => {
  expect(parseReceiptKeys(String(text))).toBeUndefined();
});
