/** E-mail, telephone and postal code as phones, address books and other keyboards write them (reference §2.5). */
import { describe, expect, test } from 'vitest';
import { type FormName, forms } from '../../src/forms/catalog.ts';
import { normalize } from '../../src/forms/fields.ts';
import { validate } from '../../src/forms/validate.ts';
import { previewAction } from '../support/agent.ts';
import { encodings, post } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';

const at = scenario();
const quote = { name: 'Ada', email: 'ada@example.com', postal_code: '94110' };

/** Invisible characters that come along with pasted addresses and numbers. */
const UNSEEN = [
  ...['\u200b', '\u200c', '\u200d', '\u200e', '\u200f', '\u202a', '\u202c', '\u2060', '\u2066', '\u2069'],
  ...['\u00ad', '\u034f', '\u061c', '\u180e', '\u3164', '\ufeff', '\ufe0f', '\u2800', '\ufff9', '\ufffc'],
  ...['\u{e0041}', '\u{e0100}', '\u{1d173}', '\u{1bca0}', '\u{13430}'],
];

const FOLDED = [
  ['email', 'ａｄａ＠ｅｘａｍｐｌｅ．ｃｏｍ', 'ada@example.com'],
  ['email', 'ada＠example.com', 'ada@example.com'],
  ['email', 'ＡＤＡ＠example。com', 'ada@example.com'],
  ['email', 'ada@bücher.example', 'ada@xn--bcher-kva.example'],
  ['email', 'ada@bu\u0308cher.example', 'ada@xn--bcher-kva.example'],
  ['phone', '０９０－１２３４－５６７８', '090-1234-5678'],
  ['phone', '（５５５）\u3000０１００', '(555) 0100'],
  ['phone', '\u2066+1\u00a0(555)\u00a0010\u20110199\u2069', '+1 (555) 010\u20100199'],
  ['postal_code', '〒１５０－０００１', '〒150-0001'],
  ['postal_code', 'ＳＷ１Ａ\u3000１ＡＡ', 'SW1A 1AA'],
] as const;

function storedOf(field: string, value: string): string | undefined {
  const result = validate(forms.homeowner_quote, { ...quote, [field]: value });
  return result.kind === 'valid' ? result.fields[field] : undefined;
}

describe('validate, invisible characters in e-mail, telephone and postal code', () => {
  test.each(UNSEEN.map((unseen) => [unseen.codePointAt(0)?.toString(16), unseen]))(
    'removes U+%s at every position, however often the character occurs',
    (_point, unseen = '') => {
      for (const many of [unseen, unseen.repeat(3), unseen.repeat(3_000)]) {
        for (const [field, value] of [
          ['email', 'ada@example.com'],
          ['phone', '+1 (555) 010-0199'],
          ['postal_code', '94110'],
        ] as const) {
          const spread = [...value].join(many.length > 1_000 ? '' : many);
          expect(storedOf(field, many + spread + many)).toBe(value);
        }
      }
      expect(storedOf('postal_code', unseen)).toBeUndefined();
    },
  );

  test.each(FOLDED)('folds the %s %s to %s', (field, written, stored) => {
    expect(storedOf(field, written)).toBe(stored);
  });

  test('keeps full-width letters and digits in fields of other kinds', () => {
    const result = validate(forms.contact, {
      ...{ name: 'Ａｄａ', email: 'a@b.co', subject: '１', message: '（①）' },
    });
    expect(result).toMatchObject({ fields: { name: 'Ａｄａ', subject: '１', message: '（①）' } });
  });
});

describe('validate, address that only NFKC converts to ASCII', () => {
  test.each([
    ['two addresses', 'ada@b.co，eve@c.co'],
    ['two addresses with a semicolon', 'ada@b.co；eve＠c.co'],
    ['a name and an address', 'Ada ＜ada@b.co＞'],
    ['quotes', '＂ada＂@b.co'],
    ['a comment', 'ada（x）@b.co'],
    ['an address literal', 'ada@［127.0.0.1］'],
    ['a second @', 'ada﹫b@c.co'],
    ['a colon', 'mailto：ada@b.co'],
    ['a backslash', 'a＼da@b.co'],
    ['two dots in a row', 'a‥b@c.co'],
    ['a path in the domain', 'ada@b℀.co'],
    ['a blank', 'ada\u3000b@c.co'],
    ['a percent-encoded domain', 'ada@b％2ec.co'],
    ['an accent that decomposes to a blank', 'a´b@c.co'],
  ])('rejects %s: %s', (_name, email) => {
    expect(validate(forms.newsletter, { email })).toMatchObject({
      kind: 'invalid',
      faults: [{ kind: 'email' }],
    });
  });
});

describe('validate, limits of folded fields', () => {
  const phone = (value: string) =>
    validate(forms.contractor_signup, { name: 'A', email: 'a@b.co', company: 'B', phone: value });

  test('counts code points after normalization', () => {
    expect(phone(`${'５\u200e'.repeat(50)}`)).toMatchObject({ fields: { phone: '5'.repeat(50) } });
    expect(phone(`${'５\u200e'.repeat(51)}`)).toMatchObject({ faults: [{ kind: 'tooLong' }] });
    // One character becomes 18.
    expect(phone('\ufdfa'.repeat(3))).toMatchObject({ faults: [{ kind: 'tooLong' }] });
    const decomposed = '\u1f82'.normalize('NFD').repeat(50);
    expect(phone(decomposed)).toMatchObject({ fields: { phone: '\u1f82'.repeat(50) } });
  });

  test('rejects a value that is too long for folding, and folds a folded value to itself', () => {
    const long = '\ufdfa'.repeat(100_000);
    expect(phone(long)).toMatchObject({ faults: [{ kind: 'tooLong' }] });
    for (const written of [long, '\ufdfa'.repeat(16_000), 'ｐ'.repeat(16_001)]) {
      const once = normalize(written, 'phone');
      expect(normalize(once, 'phone')).toBe(once);
    }
  });
});

describe('folded fields in every route', () => {
  const pasted = {
    email: '\u200eａｄａ＠example.com\u200f',
    phone: '\u200e+１ (555) 010-0199',
    postal_code: '\ufeff９４１１０',
  };
  const stored = { email: 'ada@example.com', phone: '+1 (555) 010-0199', postal_code: '94110' };

  test('preview returns the folded values', async () => {
    const { status, body } = await previewAction(at.service, 'homeowner_quote', {
      ...pasted,
      name: 'Ada',
    });
    expect([status, body.fields]).toEqual([200, { ...stored, name: 'Ada' }]);
  });

  test.each(encodings)('/api/leads and /api/subscribe forward the folded values of a body in %s', async (encoding) => {
    const form: FormName = 'homeowner_quote';
    // The value has more than 2,000 characters before the removal.
    for (const long of ['email', 'phone', 'postal_code'] as const) {
      const value = [...pasted[long]].join('\u200e'.repeat(130));
      await at.expecting({ forwarded: 1 }, () =>
        post(at.service, '/api/leads', encoding, { ...pasted, [long]: value, form, name: 'Ada' }),
      );
      expect(at.upstream.delivered.at(-1)?.event.data.fields).toEqual({ ...stored, name: 'Ada' });
    }
    const wanted = { email: `\u2066${pasted.email}${encoding}`, privacy: 'on' };
    await post(at.service, '/api/subscribe', encoding, wanted);
    expect(at.upstream.delivered.at(-1)?.event.data.fields).toMatchObject({
      email: `ada@example.com${encoding}`,
    });
  });
});
