/**
 * Keys that sign receipts (reference §7.3, `RECEIPT_SIGNING_KEYS`). The first private key signs, and the public parts
 * of all keys are published. The operator keeps the public part of an old key while its receipts must be verifiable.
 */
import { createPrivateKey, createPublicKey, hash, type KeyObject } from 'node:crypto';

/** A public key as in a JWK set (RFC 7517). The `kid` is its thumbprint (RFC 7638). */
export type PublicJwk = { kty: 'EC'; crv: 'P-256'; x: string; y: string; kid: string; use: 'sig'; alg: 'ES256' };

export type ReceiptKeys = {
  /** Undefined if there is no private key. In that case receipts are not signed. */
  signing: { kid: string; key: KeyObject } | undefined;
  /** Public parts of all keys, without duplicates, in the given order. */
  published: readonly PublicJwk[];
};

export const NO_RECEIPT_KEYS: ReceiptKeys = { signing: undefined, published: [] };

const BLOCK = /^-----BEGIN (PRIVATE|PUBLIC) KEY-----([A-Za-z0-9+/=\s]+)-----END \1 KEY-----$/;
const BETWEEN_BLOCKS = /(?<=-----END (?:PRIVATE|PUBLIC) KEY-----)\s+/;

/**
 * Parses PKCS #8 and SPKI blocks of P-256. Returns undefined if the text has no such block, or contains anything else.
 */
export function parseReceiptKeys(text: string): ReceiptKeys | undefined {
  try {
    const keys = text.trim().split(BETWEEN_BLOCKS).map(keyOf);
    const published = new Map(keys.map(publicJwk).map((jwk) => [jwk.kid, jwk]));
    const signing = keys.find(({ type }) => type === 'private');
    return { signing: signing && { kid: publicJwk(signing).kid, key: signing }, published: [...published.values()] };
  } catch {
    return undefined;
  }
}

/** Returns the key of one PEM block. Throws if the block is invalid. */
function keyOf(block: string): KeyObject {
  const [, kind, base64 = ''] = BLOCK.exec(block) ?? [];
  const der = Buffer.from(base64, 'base64');
  return kind === 'PRIVATE'
    ? createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    : createPublicKey({ key: der, format: 'der', type: 'spki' });
}

/** Returns the public part of a key. Throws if the key is of another kind. */
function publicJwk(key: KeyObject): PublicJwk {
  const { kty, crv, x, y } = key.export({ format: 'jwk' }) as PublicJwk;
  if (crv !== 'P-256') throw new Error('Not a key of P-256.');
  return { kty, crv, x, y, kid: thumbprintOf({ x, y }), use: 'sig', alg: 'ES256' };
}

/** Returns the thumbprint of RFC 7638, over the required members in the order of their names. */
export function thumbprintOf({ x, y }: Pick<PublicJwk, 'x' | 'y'>): string {
  return hash('sha256', JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }), 'base64url');
}
