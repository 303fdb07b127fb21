/** `RECEIPT_SIGNING_KEYS` (beyond §5): what is a key, and what is a fault. */
import { generateKeyPairSync } from 'node:crypto';
import { calculateJwkThumbprint } from 'jose';
import { describe, expect, test } from 'vitest';
import { parseReceiptKeys } from '../../src/settings/receipt-keys.ts';
import { newKey, publicOf } from '../support/receipts.ts';

const [first, second] = [newKey(), newKey()];

describe('keys', () => {
  test('the first private one signs; all are published once, in their order, by their thumbprint', async () => {
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

  test('nothing private is published', () => {
    expect(JSON.stringify(parseReceiptKeys(first)?.published)).not.toContain('"d"');
  });

  test('public ones alone sign nothing', () => {
    expect(parseReceiptKeys(publicOf(first))).toMatchObject({
      signing: undefined,
      published: [{ crv: 'P-256' }],
    });
  });

  test('line breaks of any kind, and none at the end, are the same', () => {
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
  ['nothing', ''],
  ['white space', ' \n'],
  ['words', 'a key'],
  ['an RSA key', pem('rsa')],
  ['a key of Ed25519', pem('ed25519')],
  ['a key of P-384', pem('ec')],
  ['a key of P-256 as SEC1', pem('sec1')],
  ['an RSA key behind a good one', first + pem('rsa')],
  ['words behind a good one', `${first}and more`],
  ['a private key called a public one', first.replaceAll('PRIVATE', 'PUBLIC')],
  ['a public key called a private one', publicOf(first).replaceAll('PUBLIC', 'PRIVATE')],
  ['a block that ends as another', first.replace('END PRIVATE', 'END PUBLIC')],
  ['a block without an end', first.replace(/-----END.*/s, '')],
  ['a key that was cut', first.replace(/^(.*\n.{30}).*\n/, '$1\n')],
])('%s is a fault', (_name, text) => {
  expect(parseReceiptKeys(String(text))).toBeUndefined();
});
