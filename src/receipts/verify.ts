/**
 * Verifies that an issuer signed a receipt (reference §7.4). The check uses only the bytes of the receipt and the keys
 * that the caller has, never an address or a key in the receipt.
 */
import { createPublicKey, type KeyObject } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { isObject } from '../http/request.ts';
import { thumbprintOf } from '../settings/receipt-keys.ts';
import { decode, digestOf, isSignedBy, RECEIPT_TYPE, SEPARATOR } from './sd-jwt.ts';

type Valid = { kind: 'valid'; claims: Readonly<Record<string, unknown>>; fields: [string, string][] };
export type Verified = Valid | { kind: 'invalid'; why: string };

/** Public keys of an issuer, by thumbprint. */
export type VerificationKeys = ReadonlyMap<string, KeyObject>;

/** The receipt is invalid. The message says why, as one sentence. */
class NotValid extends Error {}

/** Returns the keys of a parsed JWK set, or undefined if the value is no JWK set. Skips keys of other kinds. */
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
      // The coordinates are no point of the curve, so this key verifies nothing.
    }
  }
  return keys;
}

/**
 * Verifies a receipt that `issuer` must have signed. The text is the JWT with its disclosures, or the JSON that the
 * service answers. A final line break is ignored.
 */
export function verifyReceipt(text: string, { keys, issuer }: { keys: VerificationKeys; issuer: string }): Verified {
  try {
    const given = text.replace(/\r?\n$/, '');
    return given.startsWith('{') ? verifyJson(given, keys, issuer) : verifySdJwt(given, keys, issuer);
  } catch (error) {
    if (error instanceof NotValid) return { kind: 'invalid', why: error.message };
    throw error;
  }
}

function verifyJson(text: string, keys: VerificationKeys, issuer: string): Valid {
  const body = parse(text);
  const members = ['confirmed_via', 'disclosures', 'ok', 'receipt', 'signed_receipt'];
  demand(isObject(body) && hasOnly(body, members), 'This JSON is not a receipt.');
  const { ok, receipt, confirmed_via, signed_receipt: signed, disclosures } = body;
  demand(signed !== null, 'This receipt is not signed.');
  demand(ok === true && typeof signed === 'string' && Array.isArray(disclosures), 'This JSON is not a receipt.');
  const isSeparate =
    signed.indexOf(SEPARATOR) === signed.length - 1 &&
    isTexts(disclosures) &&
    !disclosures.some((each) => each.includes(SEPARATOR));
  demand(isSeparate, 'The disclosures are in the wrong place.');
  const verified = verifySdJwt(signed + disclosures.map((each) => each + SEPARATOR).join(''), keys, issuer);
  const { claims } = verified;
  const isEqual = isDeepStrictEqual(receipt, receiptIn(claims)) && confirmed_via === claims.confirmed_via;
  demand(isEqual, 'The receipt is not the one that was signed.');
  // If a name is repeated, a parser uses the last value, and a reader may use the first. The text then has more strings.
  const isDistinct = countStrings(text) === countStrings(JSON.stringify(body));
  demand(isDistinct, 'This JSON has two members with the same name.');
  return verified;
}

/** Matches a string of JSON. An unterminated string extends to the end. */
const JSON_STRING = /"[^"\\]*(?:\\[\s\S][^"\\]*)*\\?(?:"|$)/g;

/** Counts the strings in a JSON text, names of members included. */
function countStrings(text: string): number {
  return [...text.matchAll(JSON_STRING)].length;
}

/** Returns the receipt (reference §5.9) that the claims contain. */
function receiptIn({ jti, ...claims }: Readonly<Record<string, unknown>>) {
  const { action, status, created_at, consent_recorded_at, confirmation_text } = claims;
  const said = { action, status, created_at, consent_recorded_at, confirmation_text };
  return { action_id: jti, ...said, result: { ok: status === 'submitted' } };
}

function verifySdJwt(text: string, keys: VerificationKeys, issuer: string): Valid {
  const [jwt = '', ...disclosures] = text.split(SEPARATOR);
  const last = disclosures.pop();
  demand(last !== undefined, 'This is not an SD-JWT.');
  demand(last === '', 'There is text after the last disclosure, such as a key binding, which is not supported.');

  const [encodedHeader = '', encodedClaims = '', signature = '', ...more] = jwt.split('.');
  const header = decode(encodedHeader);
  demand(isObject(header) && more.length === 0, 'This is not an SD-JWT.');
  const { alg, typ, kid } = header;
  demand(
    hasOnly(header, ['alg', 'kid', 'typ']) && alg === 'ES256' && typ === RECEIPT_TYPE && typeof kid === 'string',
    'The header is not the header of a receipt.',
  );
  const key = keys.get(kid);
  demand(key !== undefined, `None of the keys has the name ${JSON.stringify(kid)}.`);
  const isSigned = isSignedBy(key, `${encodedHeader}.${encodedClaims}`, signature);
  demand(isSigned, 'The signature is invalid. The receipt was changed, or another key signed it.');

  const { _sd_alg, _sd: digests, ...claims } = claimsIn(encodedClaims);
  demand(claims.iss === issuer, `The issuer is not ${issuer}.`);
  const isOfReceipt = _sd_alg === 'sha-256' && isTexts(digests) && new Set(digests).size === digests.length;
  demand(isOfReceipt, 'The digests are not the digests of a receipt.');
  return { kind: 'valid', claims, fields: fieldsOf(disclosures, digests, claims) };
}

/** Claims that every receipt has and whose values are texts. */
const TEXT_CLAIMS = [
  ...['jti', 'action', 'status', 'created_at', 'consent_recorded_at', 'confirmation_text'],
  ...['confirmed_via', 'client', 'destination', 'preview_digest', 'api_version'],
];

/** Allowed values of the claims `status` and `confirmed_via` (reference §5.9, §7.4). */
const STATUSES: readonly unknown[] = ['submitted', 'failed'];
const CONFIRMED_VIA: readonly unknown[] = ['agent', 'client_form', 'page', 'page_email'];

/** Claims of RFC 7519 that limit the validity. No receipt has such a claim, and a verifier must not ignore one. */
const LIMITS = ['exp', 'nbf'];

function claimsIn(encoded: string): Record<string, unknown> {
  const claims = decode(encoded);
  const isWhole =
    isObject(claims) &&
    Number.isSafeInteger(claims.iat) &&
    TEXT_CLAIMS.every((name) => typeof claims[name] === 'string') &&
    STATUSES.includes(claims.status) &&
    CONFIRMED_VIA.includes(claims.confirmed_via) &&
    !LIMITS.some((name) => Object.hasOwn(claims, name)) &&
    (!Object.hasOwn(claims, 'sandbox') || claims.sandbox === true) &&
    // Claims are not nested.
    Object.entries(claims).every(([name, value]) => name === '_sd' || value === null || typeof value !== 'object');
  demand(isWhole && !Object.hasOwn(claims, '...'), 'The claims are not the claims of a receipt.');
  return claims;
}

/** Returns the field of each disclosure, after checking that its digest was signed. */
function fieldsOf(
  disclosures: readonly string[],
  digests: readonly string[],
  claims: Readonly<Record<string, unknown>>,
): [string, string][] {
  const left = new Set(digests);
  const fields = new Map<string, string>();
  for (const disclosure of disclosures) {
    demand(left.delete(digestOf(disclosure)), 'A disclosure was not signed, or occurs twice.');
    const shown = decode(disclosure);
    demand(isTexts(shown) && shown.length === 3, 'A disclosure shows no field.');
    const [, name = '', value = ''] = shown;
    const isFree = !['_sd', '_sd_alg', '...', 'sandbox'].includes(name) && !Object.hasOwn(claims, name);
    demand(isFree && !fields.has(name), 'A disclosure has the name of a claim or of another field.');
    fields.set(name, value);
  }
  return [...fields];
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}

function hasOnly(value: object, names: readonly string[]): boolean {
  return isDeepStrictEqual(Object.keys(value).sort(), names);
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
