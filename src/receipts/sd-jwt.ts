/**
 * The format of a signed receipt: an SD-JWT (RFC 9901) with ES256. The signed part has a salted digest of each field.
 * The field's disclosure, which has the salt, reveals it. Without the disclosure, the digest reveals nothing.
 */
import { hash, type KeyObject, sign, verify } from 'node:crypto';

/** Character after the JWT and after each disclosure. */
export const SEPARATOR = '~';
export const RECEIPT_TYPE = 'agent-receipt+sd-jwt';
export const SALT_BYTES = 16;

/** Format of a signature in JOSE (RFC 7518 §3.4). Node's default is DER. */
const AS_IN_JOSE = 'ieee-p1363';

/** Returns a value as base64url of its JSON. */
function encode(value: unknown): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url');
}

/** Returns the value of an encoded text, or undefined if the text is no base64url of JSON. */
export function decode(encoded: string): unknown {
  const bytes = bytesOf(encoded);
  if (bytes === undefined) return undefined;
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
  } catch {
    return undefined;
  }
}

/** Decodes base64url. The last character has spare bits, so other spellings of the same bytes return undefined. */
function bytesOf(encoded: string): Buffer | undefined {
  const bytes = Buffer.from(encoded, 'base64url');
  return bytes.toString('base64url') === encoded ? bytes : undefined;
}

/** Returns the disclosure of a field (RFC 9901 §4.2.1). */
export function disclosureOf(salt: Buffer, name: string, value: string): string {
  return encode([salt.toString('base64url'), name, value]);
}

/** Returns the digest of a disclosure for the signed part. */
export function digestOf(disclosure: string): string {
  return hash('sha256', disclosure, 'base64url');
}

/** Signs claims and returns the SD-JWT without disclosures. `kid` is the name of the key. */
export function signClaims({ key, kid }: { key: KeyObject; kid: string }, claims: object): string {
  const signed = `${encode({ alg: 'ES256', kid, typ: RECEIPT_TYPE })}.${encode(claims)}`;
  const signature = sign('sha256', Buffer.from(signed), { key, dsaEncoding: AS_IN_JOSE });
  return `${signed}.${signature.toString('base64url')}${SEPARATOR}`;
}

/** Returns true if the key made this signature of this text. */
export function isSignedBy(key: KeyObject, signed: string, signature: string): boolean {
  const bytes = bytesOf(signature);
  return bytes !== undefined && verify('sha256', Buffer.from(signed), { key, dsaEncoding: AS_IN_JOSE }, bytes);
}
