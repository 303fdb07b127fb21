/** Our own verifier with signed and then changed receipts (reference §7.4). */
import { createPrivateKey, generateKeyPairSync, sign } from 'node:crypto';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { claimsOf } from '../../src/receipts/receipts.ts';
import { decode, digestOf, disclosureOf, signClaims } from '../../src/receipts/sd-jwt.ts';
import { readKeys, verifyReceipt } from '../../src/receipts/verify.ts';
import { parseReceiptKeys } from '../../src/settings/receipt-keys.ts';
import { newKey, verifyElsewhere } from '../support/receipts.ts';
import { signedRow } from '../support/signed-receipt.ts';

const issuer = 'https://paint.example';
const keys = keysOf(newKey());
const by = signing(keys);
const jwks = { keys: [...keys.published] };
const known = readKeys(jwks) ?? expect.fail('no keys');

function keysOf(pem: string) {
  return parseReceiptKeys(pem) ?? expect.fail('no key');
}

function signing({ signing: by }: ReturnType<typeof keysOf>) {
  return by ?? expect.fail('no private key');
}

const fields = { name: 'Ada “Lovelace”', email: 'ada@example.com', message: 'Hello\nthere 🌍' };
const disclosed = Object.entries(fields).map(([name, value]) => disclosureOf(Buffer.alloc(16, name), name, value));
const claims = claimsOf(signedRow, {
  issuer,
  signedAt: new Date('2026-09-01T12:00:05.000Z'),
  digests: disclosed.map(digestOf),
});
const signed = signClaims(by, claims);
const compact = (jwt = signed, disclosures: readonly string[] = disclosed) =>
  jwt + disclosures.map((each) => `${each}~`).join('');
const receipt = {
  action_id: claims.jti,
  action: claims.action,
  status: claims.status,
  created_at: claims.created_at,
  consent_recorded_at: claims.consent_recorded_at,
  confirmation_text: claims.confirmation_text,
  result: { ok: true },
};
const body = {
  ok: true,
  receipt,
  confirmed_via: 'agent',
  signed_receipt: signed,
  disclosures: disclosed,
};

const judge = (text: string, of = issuer) => verifyReceipt(text, { keys: known, issuer: of });
const whyNot = (text: string, of = issuer) => {
  const verified = judge(text, of);
  return verified.kind === 'invalid' ? verified.why : 'valid';
};
const encoded = (text: string) => Buffer.from(text).toString('base64url');
const resigned = (change: object, header: object = {}, key = by.key) => {
  return resignedText(JSON.stringify({ ...claims, ...change }), header, key);
};
/** Signs a text in place of the claims. */
const resignedText = (payload: string, header: object = {}, key = by.key) => {
  const head = { alg: 'ES256', kid: by.kid, typ: 'agent-receipt+sd-jwt', ...header };
  const text = [JSON.stringify(head), payload].map(encoded);
  const value = sign('sha256', Buffer.from(text.join('.')), { key, dsaEncoding: 'ieee-p1363' });
  return `${text.join('.')}.${value.toString('base64url')}~`;
};

describe('verifyReceipt, valid receipts', () => {
  const { _sd, _sd_alg, ...said } = claims;
  test.each([
    ['accepts a receipt with its disclosures', compact()],
    ['accepts a line break after the receipt', `${compact()}\n`],
    ['accepts a Windows line break after the receipt', `${compact()}\r\n`],
    ['accepts the JSON of the service', JSON.stringify(body)],
    ['accepts the JSON with other white space', `${JSON.stringify(body, null, 2)}\n`],
  ])('%s', (_name, text) => {
    expect(judge(text)).toEqual({ kind: 'valid', claims: said, fields: Object.entries(fields) });
  });

  test.each([
    ['accepts a receipt without disclosures', signed],
    ['accepts the JSON of the service with deleted disclosures', JSON.stringify({ ...body, disclosures: [] })],
  ])('%s, and returns no field', (_name, text) => {
    expect(judge(text)).toEqual({ kind: 'valid', claims: said, fields: [] });
  });

  test.each<[string, { status?: string; confirmed_via?: string; [further: string]: unknown }]>([
    ['of a failed execution', { status: 'failed' }],
    ['confirmed in the form of a client', { confirmed_via: 'client_form' }],
    ['confirmed on the page', { confirmed_via: 'page' }],
    ['confirmed on the page with a code', { confirmed_via: 'page_email' }],
    ['of a sandbox client', { sandbox: true }],
    ['with further claims that are a text, a number or null', { a: 'x', b: 1, c: null }],
  ])('accepts a receipt %s, also as JSON', (_name, change) => {
    const valid = { kind: 'valid', claims: { ...said, ...change }, fields: Object.entries(fields) };
    expect(judge(compact(resigned(change)))).toEqual(valid);
    const { status = 'submitted', confirmed_via = 'agent' } = change;
    const ended = { ...receipt, status, result: { ok: status === 'submitted' } };
    const json = { ...body, receipt: ended, confirmed_via, signed_receipt: resigned(change) };
    expect(judge(JSON.stringify(json))).toEqual(valid);
  });

  test('accepts some of the disclosures, in any order', () => {
    const [name = '', email = ''] = disclosed;
    expect(judge(compact(signed, [email, name]))).toMatchObject({
      fields: [
        ['email', fields.email],
        ['name', fields.name],
      ],
    });
  });
});

describe('verifyReceipt, one change', () => {
  const changed = (text: string) =>
    fc.tuple(fc.nat(text.length - 1), fc.integer({ min: 1, max: 127 })).map(([at, by]) => {
      const bytes = Buffer.from(text);
      const index = at % bytes.length;
      bytes[index] = ((bytes[index] ?? 0) + by) % 256;
      return bytes.toString();
    });
  const refused = (text: string): void => {
    expect(judge(text).kind).toBe('invalid');
  };

  test('refuses a change of any byte of the JWT and its disclosures', () => {
    fc.assert(fc.property(changed(compact()), refused), { numRuns: 3_000 });
  });

  test('refuses a change of any byte of the JSON', () => {
    fc.assert(fc.property(changed(JSON.stringify(body)), refused), { numRuns: 3_000 });
  });

  test('refuses the replacement of any character by A, B, _, ~ or a period', () => {
    const text = compact();
    for (let at = 0; at < text.length; at += 1) {
      for (const other of ['A', 'B', '_', '~', '.']) {
        if (text[at] === other) continue;
        refused(text.slice(0, at) + other + text.slice(at + 1));
      }
    }
  });

  test('refuses the removal of any character, or an inserted A', () => {
    const text = compact();
    for (let at = 0; at < text.length; at += 1) {
      refused(text.slice(0, at) + text.slice(at + 1));
      refused(`${text.slice(0, at)}A${text.slice(at)}`);
    }
  });
});

describe('verifyReceipt, spellings of JSON', () => {
  /** Texts of characters that end, escape or resemble a string of JSON. */
  const texts = fc.array(fc.constantFrom('"', '\\', ':', ' ', 'a', '\n', '{', ','), { maxLength: 12 });
  const colons = fc.constantFrom(':', ' :', '\n\t: ');
  /** Returns the text as a string of JSON in which some characters have another spelling. */
  const spelled = (characters: readonly string[], others: readonly boolean[]) => {
    const spellings = characters.map((character, at) =>
      others[at]
        ? `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`
        : JSON.stringify(character).slice(1, -1),
    );
    return `"${spellings.join('')}"`;
  };
  const others = fc.array(fc.boolean(), { minLength: 12, maxLength: 12 });

  test('accepts any spelling of a text, and refuses a second member in the same JSON', () => {
    fc.assert(
      fc.property(texts, others, colons, (characters, others, colon) => {
        const confirmation_text = characters.join('');
        const jwt = resigned({ confirmation_text });
        const json = { ...body, receipt: { ...receipt, confirmation_text: 'HERE' }, signed_receipt: jwt };
        const text = JSON.stringify(json)
          .replaceAll('":', `"${colon}`)
          .replace('"HERE"', () => spelled(characters, others));
        expect(judge(text).kind).toBe('valid');
        const name = `"confirmation_text"${colon}`;
        const first = text.replace(name, () => `${name}${spelled([...characters].reverse(), others)},${name}`);
        expect(whyNot(first)).toMatch(/two members/);
      }),
      { numRuns: 500 },
    );
  });
});

describe('verifyReceipt, invalid receipts', () => {
  test.each<[string, string, RegExp]>([
    ['another algorithm', resigned({}, { alg: 'none' }), /header/],
    ['another type', resigned({}, { typ: 'JWT' }), /header/],
    ['a key in the header', resigned({}, { jwk: jwks.keys[0] }), /header/],
    ['an address of keys in the header', resigned({}, { jku: 'https://evil.example/jwks.json' }), /header/],
    ['a critical extension', resigned({}, { crit: ['b64'], b64: true }), /header/],
    ['an address of a certificate in the header', resigned({}, { x5u: 'https://evil.example' }), /header/],
    ['an unknown kid', resigned({}, { kid: 'another' }), /None of the keys/],
    ['a kid that is an object', resigned({}, { kid: { toString: 1 } }), /header/],
    ['a kid that is a list with our kid', resigned({}, { kid: [by.kid] }), /header/],
    ['a signature of another key under our kid', resigned({}, {}, newKeyObject()), /signature/],
    ['another issuer', resigned({ iss: 'https://evil.example' }), /issuer is not/],
    ['another digest algorithm', resigned({ _sd_alg: 'sha-512' }), /digests/],
    ['a repeated digest', resigned({ _sd: [...claims._sd, claims._sd[0]] }), /digests/],
    ['digests that are no list', resigned({ _sd: 'none' }), /digests/],
    ['a missing claim', resigned({ client: undefined }), /claims/],
    ...[
      'jti',
      'action',
      'created_at',
      'consent_recorded_at',
      'confirmation_text',
      'destination',
      'preview_digest',
    ].flatMap((name): [string, string, RegExp][] => [
      [`a missing claim ${name}`, resigned({ [name]: undefined }), /claims/],
      [`a claim ${name} that is no text`, resigned({ [name]: 1 }), /claims/],
    ]),
    ['a missing version', resigned({ api_version: undefined }), /claims/],
    ['a missing time of signing', resigned({ iat: undefined }), /claims/],
    ['a time of signing that is a text', resigned({ iat: '1' }), /claims/],
    ['a time of signing with a fraction', resigned({ iat: 1.5 }), /claims/],
    ['a mark of a test that is false', resigned({ sandbox: false }), /claims/],
    ['claims that are null', resignedText('null'), /claims/],
    ['claims that are a list', resignedText('[]'), /claims/],
    ['claims that are a text', resignedText('"claims"'), /claims/],
    ['claims that are no JSON', resignedText('{'), /claims/],
    ['an object in a further claim', resigned({ further: { _sd: [] } }), /claims/],
    ['a list in a further claim', resigned({ further: [] }), /claims/],
    ['an unknown status', resigned({ status: 'executing' }), /claims/],
    ['an unknown confirmed_via', resigned({ confirmed_via: 'telephone' }), /claims/],
    ['a claim exp', resigned({ exp: 4_000_000_000 }), /claims/],
    ['a claim nbf', resigned({ nbf: 1 }), /claims/],
    ['digests within a claim', resigned({ client: { _sd: [] } }), /claims/],
    ['a placeholder for a digest', resigned({ '...': claims._sd[0] }), /claims/],
    ['a key binding', `${compact()}${signed.slice(0, -1)}`, /key binding/],
    ['a text without the final separator', signed.slice(0, -1), /not an SD-JWT/],
    ['an unsigned disclosure', compact(signed, [...disclosed, disclosureOf(Buffer.alloc(16), 'a', 'b')]), /not signed/],
    ['a repeated disclosure', compact(signed, [...disclosed, String(disclosed[0])]), /twice/],
    ['a further part of the JWT', signed.replace('~', '.AA~'), /not an SD-JWT/],
    ['a header that is a text', `${encoded('"header"')}${signed.slice(signed.indexOf('.'))}`, /not an SD-JWT/],
    ['a line break before the receipt', `\n${compact()}`, /not an SD-JWT/],
    ['a line break within the receipt', compact().replace('~', '\n~'), /signature/],
    ['two line breaks after the receipt', `${compact()}\n\n`, /after the last disclosure/],
    ['an empty text', '', /not an SD-JWT/],
    ['JSON that is no receipt', '{"ok":true}', /not a receipt/],
    ['invalid JSON', '{', /not a receipt/],
    ['JSON without a signature', JSON.stringify({ ...body, signed_receipt: null }), /not signed/],
    ['JSON with a signature that is no text', JSON.stringify({ ...body, signed_receipt: 1 }), /not a receipt/],
    ['JSON whose ok is not true', JSON.stringify({ ...body, ok: 1 }), /not a receipt/],
    ['JSON whose disclosures are no list', JSON.stringify({ ...body, disclosures: '' }), /not a receipt/],
    ['JSON whose disclosures are no texts', JSON.stringify({ ...body, disclosures: [1] }), /in the wrong place/],
    ['JSON with joined disclosures', JSON.stringify({ ...body, disclosures: [disclosed.join('~')] }), /wrong place/],
    ['JSON with a further member', JSON.stringify({ ...body, jwks }), /not a receipt/],
    ['JSON with disclosures elsewhere', JSON.stringify({ ...body, signed_receipt: compact() }), /in the wrong place/],
    ['JSON with another status', JSON.stringify({ ...body, receipt: { ...receipt, status: 'failed' } }), /not the one/],
    ['JSON with another confirmed_via', JSON.stringify({ ...body, confirmed_via: 'client_form' }), /not the one/],
  ])('refuses %s', (_name, text, why) => {
    expect(whyNot(text)).toMatch(why);
  });

  test.each([
    ['ok', 'false', JSON.stringify(body)],
    ['receipt', '{}', JSON.stringify(body)],
    ['confirmed_via', '"page"', JSON.stringify(body, null, 2)],
    ['signed_receipt', '"none"', JSON.stringify(body)],
    ['disclosures', '[]', JSON.stringify(body)],
    ['status', '"failed"', JSON.stringify(body, null, '\t')],
    ['result', 'null', JSON.stringify(body)],
  ])('refuses JSON with a forged member %s before the real member', (name, forged, text) => {
    expect(text.replace(`"${name}"`, `"${name}": ${forged}, "${name}"`)).not.toBe(text);
    for (const spelling of [name, name.replace('s', '\\u0073')]) {
      const twice = text.replace(`"${name}"`, `"${spelling}"\n:\t${forged}, "${name}"`);
      expect(whyNot(twice)).toMatch(/two members/);
    }
  });

  test.each([
    ['a claim', 'client'],
    ['the digests', '_sd'],
    ['the mark of a test', 'sandbox'],
    ['the digest algorithm', '_sd_alg'],
    ['a placeholder', '...'],
  ])('refuses a signed disclosure with the name of %s', (_name, name) => {
    const shadow = disclosureOf(Buffer.alloc(16), name, 'evil');
    const jwt = resigned({ _sd: [digestOf(shadow)] });
    expect(whyNot(compact(jwt, [shadow]))).toMatch(/name of a claim/);
  });

  test('refuses a field that two signed disclosures contain', () => {
    const twice = [1, 2].map((salt) => disclosureOf(Buffer.alloc(16, salt), 'name', 'Ada'));
    const jwt = resigned({ _sd: twice.map(digestOf) });
    expect(whyNot(compact(jwt, twice))).toMatch(/name of a claim/);
  });

  test('refuses a disclosure that is no pair of field name and text', () => {
    for (const shown of [['salt', 'value'], ['salt', 'name', { _sd: [] }], 'salt', null]) {
      const disclosure = Buffer.from(JSON.stringify(shown)).toString('base64url');
      const jwt = resigned({ _sd: [digestOf(disclosure)] });
      expect(whyNot(compact(jwt, [disclosure]))).toMatch(/no field/);
    }
  });
});

test('other SD-JWT libraries accept our signed receipts with arbitrary values', async () => {
  const text = fc.string({ unit: 'grapheme', maxLength: 40 });
  const values = fc.dictionary(fc.stringMatching(/^[a-z]{1,8}x$/), text, { maxKeys: 5 });
  await fc.assert(
    fc.asyncProperty(values, text, async (values, destination) => {
      const disclosures = Object.entries(values).map(([name, value]) =>
        disclosureOf(Buffer.from('0123456789abcdef'), name, value),
      );
      const digests = disclosures.map(digestOf);
      const of = claimsOf({ ...signedRow, destination }, { issuer, signedAt: new Date(1e12), digests });
      const signed = signClaims(by, of);
      const { shown } = await verifyElsewhere({ signed_receipt: signed, disclosures }, jwks, issuer);
      expect(shown).toMatchObject({ ...values, destination });
      expect(judge(compact(signed, disclosures))).toMatchObject({
        kind: 'valid',
        fields: Object.entries(values),
      });
    }),
    { numRuns: 50 },
  );
});

test('claimsOf marks the receipt of a sandbox client', () => {
  const of = { issuer, signedAt: new Date(1e12), digests: [] };
  expect(claimsOf({ ...signedRow, sandbox: 1 }, of)).toMatchObject({ sandbox: true, iat: 1e9 });
  expect(claimsOf({ ...signedRow, sandbox: 0 }, of)).not.toHaveProperty('sandbox');
});

test('decode refuses other spellings of the same base64url value', () => {
  expect(decode('e30')).toEqual({});
  for (const other of ['e31', 'e30=', 'e3 0', 'e30\n']) expect(decode(other)).toBeUndefined();
});

test('decode refuses a text that is not JSON in UTF-8, or has a byte order mark', () => {
  for (const text of ['', '{', '\ufeff{}', Buffer.from([0x22, 0xff, 0x22])]) {
    expect(decode(Buffer.from(text).toString('base64url'))).toBeUndefined();
  }
});

test('verifyReceipt throws, and calls no receipt invalid, if a key cannot verify signatures of this kind', () => {
  const { publicKey } = generateKeyPairSync('ed25519');
  const keys = new Map([[by.kid, publicKey]]);
  expect(() => verifyReceipt(compact(), { keys, issuer })).toThrow();
});

test('readKeys ignores keys of other types, and returns undefined for an invalid key set', () => {
  const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
  const rsa = { ...publicKey.export({ format: 'jwk' }), kid: by.kid };
  const offCurve = { ...jwks.keys[0], y: jwks.keys[0]?.x };
  expect(readKeys({ keys: [rsa, offCurve, null, 'key'] })?.size).toBe(0);
  const others = [{ kty: 'OKP' }, { crv: 'P-384' }, { x: 1 }, { y: 1 }].map((part) => ({ ...jwks.keys[0], ...part }));
  expect(readKeys({ keys: others })?.size).toBe(0);
  expect([...(readKeys({ keys: [...others, ...jwks.keys] })?.keys() ?? [])]).toEqual([by.kid]);
  for (const none of [undefined, null, [], {}, { keys: {} }]) {
    expect(readKeys(none)).toBeUndefined();
  }
});

function newKeyObject() {
  return createPrivateKey(newKey());
}
