/**
 * How a receipt is spelled: an SD-JWT (RFC 9901), signed by ES256. A field is a salted digest in the signed part;
 * its disclosure, which holds the salt, shows what it was. Without that the digest says nothing.
 */
import { hash, type KeyObject, sign, verify } from 'node:crypto';

/** Behind the JWT, behind each disclosure, and nowhere else. */
export const SEPARATOR = '~';
export const RECEIPT_TYPE = 'agent-receipt+sd-jwt';
export const SALT_BYTES = 16;

/** Not DER, which is Node's own (RFC 7518 §3.4). */
const AS_IN_JOSE = 'ieee-p1363';

/** What a receipt may say of how it is signed: nothing else. */
type ReceiptHeader = { alg: 'ES256'; kid: string; typ: typeof RECEIPT_TYPE };

/** The bytes of a value, as they are signed. */
function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** The value of a text that `encode` spelled; undefined where it has another spelling, or is no JSON. */
export function decode(encoded: string): unknown {
  const bytes = bytesOf(encoded);
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** The last character has spare bits: one spelling alone is taken. */
function bytesOf(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, 'base64url');
  return bytes.toString('base64url') === encoded ? bytes : undefined;
}

/** One field, shown: RFC 9901 §4.2.1. */
export function disclosureOf(salt: Buffer, name: string, value: string): string {
  return encode([salt.toString('base64url'), name, value]);
}

/** What stands for a disclosure in the signed part. */
export function digestOf(disclosure: string): string {
  return hash('sha256', disclosure, 'base64url');
}

/** Takes the key, its name and the claims; returns the SD-JWT without disclosures. */
export function signClaims({ key, kid }: { key: KeyObject; kid: string }, claims: object): string {
  const header: ReceiptHeader = { alg: 'ES256', kid, typ: RECEIPT_TYPE };
  const signed = `${encode(header)}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: AS_IN_JOSE });
  return `${signed}.${signature.toString('base64url')}${SEPARATOR}`;
}

/** Takes what was signed as it is spelled, the signature, and the key; true where that signed it. */
export function isSignedBy(key: KeyObject, signed: string, signature: string): boolean {
  const bytes = bytesOf(signature);
  if (bytes === undefined) return false;
  return verify('sha256', Buffer.from(signed), { key, dsaEncoding: AS_IN_JOSE }, bytes);
}
