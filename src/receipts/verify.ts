/**
 * Whether a receipt is what its issuer signed (beyond §5): asked of its bytes and of keys that were got elsewhere,
 * never of an address or a key that travels with it.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { thumbprintOf } from '../settings/receipt-keys.ts';
import { decode, digestOf, isSignedBy, RECEIPT_TYPE, SEPARATOR } from './sd-jwt.ts';

export type Verified =
  | { kind: 'valid'; claims: Readonly<Record<string, unknown>>; fields: [string, string][] }
  | { kind: 'invalid'; why: string };

/** The public keys of an issuer, by their thumbprints. */
export type VerificationKeys = ReadonlyMap<string, KeyObject>;

/** What it is refused for, as one sentence. */
class NotValid extends Error {}

/** Takes what was parsed of a JWK set; undefined where it is none. Keys of another kind are left out. */
export function readKeys(set: unknown): VerificationKeys | undefined {
  if (!isObject(set) || !Array.isArray(set.keys)) return undefined;
  const keys = new Map<string, KeyObject>();
  for (const jwk of set.keys) {
    if (!isObject(jwk) || jwk.kty !== 'EC' || jwk.crv !== 'P-256') continue;
    const { x, y } = jwk;
    if (typeof x !== 'string' || typeof y !== 'string') continue;
    try {
      const key = createPublicKey({ key: { kty: 'EC', crv: 'P-256', x, y }, format: 'jwk' });
      keys.set(thumbprintOf({ x, y }), key);
    } catch {
      // No point of the curve: it verifies nothing.
    }
  }
  return keys;
}

/**
 * Takes a receipt as text: the JWT with its disclosures, or the JSON that the service answers; a final line break
 * is ignored. `issuer` is who must have signed it.
 */
export function verifyReceipt(
  text: string,
  { keys, issuer }: { keys: VerificationKeys; issuer: string },
): Verified {
  try {
    const given = text.replace(/\r?\n$/, '');
    return given.startsWith('{') ? ofJson(given, keys, issuer) : ofSdJwt(given, keys, issuer);
  } catch (error) {
    if (error instanceof NotValid) return { kind: 'invalid', why: error.message };
    throw error;
  }
}

const MEMBERS = ['confirmed_via', 'disclosures', 'ok', 'receipt', 'signed_receipt'];

function ofJson(text: string, keys: VerificationKeys, issuer: string): Verified {
  const body = parse(text);
  demand(
    isObject(body) && isDeepStrictEqual(Object.keys(body).sort(), MEMBERS),
    'This JSON is no receipt.',
  );
  const { ok, receipt, confirmed_via, signed_receipt: signed, disclosures } = body;
  demand(signed !== null, 'This receipt is not signed.');
  demand(
    ok === true && typeof signed === 'string' && Array.isArray(disclosures),
    'This JSON is no receipt.',
  );
  demand(
    signed.indexOf(SEPARATOR) === signed.length - 1 && disclosures.every(isDisclosure),
    'The disclosures are not where they belong.',
  );
  const appended = disclosures.map((each) => each + SEPARATOR).join('');
  const verified = ofSdJwt(signed + appended, keys, issuer);
  if (verified.kind === 'valid') {
    const { claims } = verified;
    const isEqual =
      isDeepStrictEqual(receipt, signedReceipt(claims)) && confirmed_via === claims.confirmed_via;
    demand(isEqual, 'The receipt is not the one that was signed.');
  }
  return verified;
}

/** The receipt of spec §2.3, as the claims say it. */
function signedReceipt(claims: Readonly<Record<string, unknown>>) {
  const { jti, action, status, created_at, consent_recorded_at, confirmation_text } = claims;
  return {
    action_id: jti,
    action,
    status,
    created_at,
    consent_recorded_at,
    confirmation_text,
    result: { ok: status === 'submitted' },
  };
}

function ofSdJwt(text: string, keys: VerificationKeys, issuer: string): Verified {
  const [jwt = '', ...disclosures] = text.split(SEPARATOR);
  const last = disclosures.pop();
  demand(last !== undefined, 'This is no SD-JWT.');
  demand(last === '', 'It ends with something that is no disclosure: a key binding is not taken.');

  const [encodedHeader = '', encodedClaims = '', signature = '', ...more] = jwt.split('.');
  const header = decode(encodedHeader);
  demand(isObject(header) && more.length === 0, 'This is no SD-JWT.');
  demand(
    isDeepStrictEqual(Object.keys(header).sort(), ['alg', 'kid', 'typ']) &&
      header.alg === 'ES256' &&
      header.typ === RECEIPT_TYPE,
    'Its header is not that of a receipt.',
  );
  const key = keys.get(String(header.kid));
  demand(key !== undefined, `None of the keys has the name ${JSON.stringify(header.kid)}.`);
  const isSigned = isSignedBy(key, `${encodedHeader}.${encodedClaims}`, signature);
  demand(isSigned, 'The signature does not fit: something was changed, or another key signed it.');

  const { _sd_alg, _sd: digests, ...claims } = claimsIn(encodedClaims);
  demand(claims.iss === issuer, `It was not issued by ${issuer}.`);
  demand(_sd_alg === 'sha-256' && isDistinct(digests), 'Its digests are not those of a receipt.');
  return { kind: 'valid', claims, fields: fieldsOf(disclosures, digests, claims) };
}

/** What a receipt always says, in words. */
const IN_WORDS = ['jti', 'action', 'status', 'created_at', 'consent_recorded_at'].concat([
  'confirmation_text',
  'confirmed_via',
  'client',
  'preview_digest',
  'api_version',
]);

function claimsIn(encoded: string): Record<string, unknown> {
  const claims = decode(encoded);
  const isWhole =
    isObject(claims) &&
    Number.isSafeInteger(claims.iat) &&
    IN_WORDS.every((name) => typeof claims[name] === 'string') &&
    (claims.destination === null || typeof claims.destination === 'string') &&
    // Within a claim nothing is disclosed here.
    Object.entries(claims).every(([name, value]) => name === '_sd' || isPlain(value));
  demand(isWhole && !Object.hasOwn(claims, '...'), 'Its claims are not those of a receipt.');
  return claims;
}

/** What each disclosure shows: a field of its own, whose digest was signed. */
function fieldsOf(
  disclosures: readonly string[],
  digests: readonly string[],
  claims: Readonly<Record<string, unknown>>,
): [string, string][] {
  const left = new Set(digests);
  const fields = new Map<string, string>();
  for (const disclosure of disclosures) {
    demand(left.delete(digestOf(disclosure)), 'A disclosure was not signed, or is there twice.');
    const shown = decode(disclosure);
    demand(Array.isArray(shown) && shown.length === 3, 'A disclosure shows no field.');
    const [salt, name, value] = shown;
    const isField = [salt, name, value].every((each) => typeof each === 'string');
    demand(isField, 'A disclosure shows no field.');
    const isFree = !['_sd', '_sd_alg', '...'].includes(name) && !Object.hasOwn(claims, name);
    demand(isFree && !fields.has(name), 'A disclosure shows what is told elsewhere.');
    fields.set(name, value);
  }
  return [...fields];
}

function isDistinct(digests: unknown): digests is string[] {
  return (
    Array.isArray(digests) &&
    digests.every((each) => typeof each === 'string') &&
    new Set(digests).size === digests.length
  );
}

function isPlain(value: unknown): boolean {
  return value === null || typeof value !== 'object';
}

function isDisclosure(value: unknown): value is string {
  return typeof value === 'string' && !value.includes(SEPARATOR);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function demand(holds: boolean, why: string): asserts holds {
  if (!holds) throw new NotValid(why);
}
