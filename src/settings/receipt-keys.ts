/**
 * The keys that sign receipts (beyond §5, `RECEIPT_SIGNING_KEYS`): the first private key signs, all are published.
 * A key that signed stays, as a public one, for as long as receipts of it are to be verified.
 */
import { createPrivateKey, createPublicKey, hash, type KeyObject } from 'node:crypto';

/** A public key as a JWK set has it (RFC 7517); the `kid` is its thumbprint (RFC 7638). */
export type PublicJwk = {
  kty: 'EC';
  crv: 'P-256';
  x: string;
  y: string;
  kid: string;
  use: 'sig';
  alg: 'ES256';
};

export type ReceiptKeys = {
  /** Undefined where there is no private key: then receipts are not signed. */
  signing: { kid: string; key: KeyObject } | undefined;
  /** Each once, in the order in which they were given. */
  published: readonly PublicJwk[];
};

export const NO_RECEIPT_KEYS: ReceiptKeys = { signing: undefined, published: [] };

const BLOCK =
  /^-----BEGIN (PRIVATE|PUBLIC) KEY-----([A-Za-z0-9+/=\s]+)-----END (PRIVATE|PUBLIC) KEY-----$/;
const BETWEEN_BLOCKS = /(?<=-----END (?:PRIVATE|PUBLIC) KEY-----)\s+/;

/** Takes PKCS #8 and SPKI blocks of P-256; undefined where the text holds none, or anything else. */
export function parseReceiptKeys(text: string): ReceiptKeys | undefined {
  try {
    const keys = text.trim().split(BETWEEN_BLOCKS).map(keyOf);
    const published = new Map(keys.map(publicJwk).map((jwk) => [jwk.kid, jwk]));
    const signing = keys.find(({ type }) => type === 'private');
    return {
      signing: signing && { kid: publicJwk(signing).kid, key: signing },
      published: [...published.values()],
    };
  } catch {
    return undefined;
  }
}

/** Throws where the text is no such block. */
function keyOf(block: string): KeyObject {
  const [, begun, base64 = '', ended] = BLOCK.exec(block) ?? [];
  if (begun === undefined || begun !== ended) throw new Error('Not a block of a key.');
  const der = Buffer.from(base64, 'base64');
  return begun === 'PRIVATE'
    ? createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    : createPublicKey({ key: der, format: 'der', type: 'spki' });
}

/** Throws where it is of another kind. */
function publicJwk(key: KeyObject): PublicJwk {
  const { kty, crv, x, y } = (key.type === 'private' ? createPublicKey(key) : key).export({
    format: 'jwk',
  });
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) {
    throw new Error('Not a key of P-256.');
  }
  return { kty, crv, x, y, kid: thumbprintOf({ x, y }), use: 'sig', alg: 'ES256' };
}

/** RFC 7638: the members that the key needs, in the order of their names. */
export function thumbprintOf({ x, y }: Pick<PublicJwk, 'x' | 'y'>): string {
  return hash('sha256', JSON.stringify({ crv: 'P-256', kty: 'EC', x, y }), 'base64url');
}
