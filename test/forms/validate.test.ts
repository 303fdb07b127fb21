import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { forms, leastFields } from '../../src/forms/catalog.ts';
import { describeFault, missingNames, validate } from '../../src/forms/validate.ts';
import { codePoint } from '../support/code-point.ts';

const { contact, contractor_signup, homeowner_quote, newsletter } = forms;
const quote = { name: 'Ada', email: 'ada@example.com', postal_code: '94110' };
const message = { name: 'Ada', email: 'ada@example.com', subject: 'Hello', message: 'Text' };

function fieldsOf(form: (typeof forms)[keyof typeof forms], raw: Record<string, unknown>) {
  const validation = validate(form, raw);
  return validation.kind === 'valid'
    ? validation.fields
    : validation.faults.map((fault) => `${fault.field.name} ${fault.kind}`);
}

describe('fields of each action (reference §2.1)', () => {
  test.each([
    ['homeowner_quote', ['name', 'email', 'postal_code'], ['phone', 'project_type', 'timeline', 'message']],
    ['contractor_signup', ['name', 'email', 'company'], ['phone', 'company_size', 'message']],
    ['contact', ['name', 'email', 'subject', 'message'], ['phone']],
    ['newsletter', ['email'], []],
  ] as const)(
    '%s has the required and the optional fields of the table in the reference',
    (name, required, optional) => {
      const names = (wanted: boolean) =>
        forms[name].fields
          .filter((field) => field.required === wanted)
          .map((field) => field.name)
          .sort();
      expect(names(true)).toEqual([...required].sort());
      expect(names(false)).toEqual([...optional].sort());
    },
  );
});

describe('validate, normalization (reference §2.4)', () => {
  test('trims values, drops empty optional values and lower-cases e-mail addresses', () => {
    expect(
      fieldsOf(homeowner_quote, {
        ...quote,
        name: ' \n Ada \u00a0',
        email: ' ADA@Example.COM ',
        phone: '  ',
      }),
    ).toEqual(quote);
  });

  test('reports a blank required value as missing', () => {
    expect(fieldsOf(homeowner_quote, { name: '   ', email: '', postal_code: '\u200b' })).toEqual([
      'name missing',
      'email missing',
      'postal_code missing',
    ]);
  });

  test.each(['\u200c\u200d', '\u00ad', '\u115f\u3164', '\u2800 \u2800', '\ufe0f', '\u{e0041}\u2060'])(
    'treats a value without visible characters as blank (%j)',
    (name) => {
      expect(fieldsOf(homeowner_quote, { ...quote, name })).toEqual(['name missing']);
    },
  );

  test('converts line breaks of every kind to LF in message, before trimming and counting', () => {
    const written = '\r\nfirst\r\nsecond\rthird\u2028fourth\u2029fifth\tend\u2028';
    expect(fieldsOf(contact, { ...message, message: written })).toMatchObject({
      message: 'first\nsecond\nthird\nfourth\nfifth\tend',
    });
    const breaks = `a${'\r\n'.repeat(1998)}b`;
    expect(fieldsOf(contact, { ...message, message: breaks })).toMatchObject({
      message: breaks.replaceAll('\r\n', '\n'),
    });
  });

  test.each(['a\nb', 'a\r\nb', 'a\u2028b'])('rejects line breaks in a one-line field (%j)', (subject) => {
    expect(fieldsOf(contact, { ...message, subject })).toEqual(['subject characters']);
  });

  test.each([
    '\0',
    '\x01',
    '\x1f',
    '\x7f',
    '\x80',
    '\x9f',
    '\ufdd0',
    '\ufdef',
    '\ufffe',
    '\uffff',
    '\u{1fffe}',
    '\u{10ffff}',
    '\ud800',
    '\udfff',
    '\udc00\ud800',
  ])('rejects control characters, noncharacters and lone surrogates in message and name (%j)', (character) => {
    expect(fieldsOf(contact, { ...message, message: `a${character}b` })).toEqual(['message characters']);
    expect(fieldsOf(contact, { ...message, name: `a${character}b` })).toEqual(['name characters']);
  });

  test('converts soft line breaks of word processors to LF in message, and rejects them in a one-line field', () => {
    const pasted = '\x85one\x0btwo\x0cthree\x85four\r\n\x0bfive\x85';
    expect(fieldsOf(contact, { ...message, message: pasted })).toMatchObject({
      message: 'one\ntwo\nthree\nfour\n\nfive',
    });
    for (const soft of ['\x0b', '\x0c', '\x85']) {
      const subject = `a${soft}b`;
      expect(fieldsOf(contact, { ...message, subject })).toEqual(['subject characters']);
    }
  });

  test('converts a tab to a blank in every field but message', () => {
    const line = '\tAda\tLovelace\t';
    const written = { ...quote, name: line, postal_code: 'SW1A\t1AA', phone: '+1\t555 0100' };
    const wanted = { project_type: 'Inside\tand out', email: 'ada@example.com\t', message: 'a\tb' };
    expect(fieldsOf(homeowner_quote, { ...written, ...wanted })).toEqual({
      ...quote,
      name: 'Ada Lovelace',
      postal_code: 'SW1A 1AA',
      phone: '+1 555 0100',
      project_type: 'Inside and out',
      message: 'a\tb',
    });
    expect(fieldsOf(newsletter, { email: 'ada\t@example.com' })).toEqual(['email email']);
  });

  test('accepts forbidden characters at the ends of a value, because they are trimmed', () => {
    expect(fieldsOf(homeowner_quote, { ...quote, name: '\v\f\t\n Ada \v\f' })).toEqual(quote);
  });

  test('removes deceiving characters before all other checks', () => {
    const pasted = '\u202a+1 555\u2066 0100\u2069\u202c\u200b\u2060\ufeff\u{e0061}';
    expect(fieldsOf(homeowner_quote, { ...quote, phone: pasted })).toEqual({
      ...quote,
      phone: '+1 555 0100',
    });
    expect(fieldsOf(homeowner_quote, { ...quote, email: 'a\u200bda@exam\u2066ple.com' })).toEqual(quote);
  });

  test.each(['علی‌رضا', 'क्‍ष', 'דוד', '👩‍👩‍👧‍👦', '🏴‍☠️', 'José', '𝒜da'])('keeps the name %s unchanged', (name) => {
    expect(fieldsOf(homeowner_quote, { ...quote, name })).toEqual({ ...quote, name });
  });
});

describe('validate, e-mail addresses (reference §2.7)', () => {
  const long = (length: number) =>
    `a@${'b'.repeat(60)}.${'c'.repeat(60)}.${'d'.repeat(60)}.${'e'.repeat(length - 188)}.co`.slice(0, length);
  test.each([
    ['ada@example.com', 'ada@example.com'],
    ["o'neil+tag!#$%&*/=?^_`{|}~-.x@example.co", "o'neil+tag!#$%&*/=?^_`{|}~-.x@example.co"],
    ['a.b.c@example.com', 'a.b.c@example.com'],
    ['ada@bücher.example', 'ada@xn--bcher-kva.example'],
    ['ada@EXAMPLE。com', 'ada@example.com'],
    [`${'a'.repeat(64)}@example.com`, `${'a'.repeat(64)}@example.com`],
  ])('accepts %s', (written, kept) => {
    expect(fieldsOf(newsletter, { email: written })).toEqual({ email: kept });
  });

  test.each([
    'ada',
    '@example.com',
    'ada@',
    'ada@localhost',
    'ada@example',
    'ada@.com',
    'ada@example.com.',
    'ada@-a.com',
    'ada@a-.com',
    '"ada"@example.com',
    'ada(x)@example.com',
    'ada@[127.0.0.1]',
    'a@b.co,c@d.co',
    'a@b.co;c@d.co',
    'Ada <ada@example.com>',
    'ada lovelace@example.com',
    'ada@exa mple.com',
    'ädä@example.com',
    'a@b@example.com',
    '.ada@example.com',
    'ada.@example.com',
    'a..b@example.com',
    'ada@exa_mple.com',
    'ada@a%2ecom.de',
    `${'a'.repeat(65)}@example.com`,
    `ada@${'b'.repeat(64)}.com`,
    long(255),
  ])('rejects %s', (written) => {
    expect(fieldsOf(newsletter, { email: written })).toEqual(['email email']);
  });

  test('accepts an address of 254 characters and rejects one of 255', () => {
    const address = `a@${['b', 'c', 'd'].map((letter) => letter.repeat(62)).join('.')}.${'e'.repeat(254 - 2 - 63 * 3 - 3)}.co`;
    expect(address.length).toBe(254);
    expect(fieldsOf(newsletter, { email: address })).toEqual({ email: address });
    expect(fieldsOf(newsletter, { email: address.replace('.co', '.com') })).toEqual(['email email']);
  });
});

describe('validate, limits (reference §2.10)', () => {
  const bounded: [keyof typeof forms, string, number][] = [
    ['homeowner_quote', 'name', 2000],
    ['homeowner_quote', 'message', 2000],
    ['homeowner_quote', 'phone', 2000],
    ['contractor_signup', 'name', 200],
    ['contractor_signup', 'company', 200],
    ['contractor_signup', 'phone', 50],
    ['contractor_signup', 'company_size', 200],
    ['contractor_signup', 'message', 2000],
    ['contact', 'subject', 2000],
  ];
  test.each(bounded)('%s %s accepts %i code points, and not one more', (name, field, maximum) => {
    for (const character of ['x', '\u{1f58c}']) {
      expect(
        fieldsOf(forms[name], { ...leastFields(forms[name]), [field]: ` ${character.repeat(maximum)} ` }),
      ).toHaveProperty(field, character.repeat(maximum));
      expect(fieldsOf(forms[name], { ...leastFields(forms[name]), [field]: character.repeat(maximum + 1) })).toEqual([
        `${field} tooLong`,
      ]);
    }
  });
});

describe('describeFault and missingNames', () => {
  const faultsOf = (form: (typeof forms)[keyof typeof forms], raw: Record<string, unknown>) => {
    const validation = validate(form, raw);
    return validation.kind === 'invalid' ? validation.faults : [];
  };

  test.each([
    ['missing', { name: ' ' }, 'name is missing.'],
    ['not a string', { name: 1 }, 'name must be a string.'],
    ['a text with forbidden characters', { name: 'a\nb' }, 'name holds characters that can’t be used.'],
    ['not an e-mail address', { email: 'ada' }, 'email is not a valid e-mail address.'],
    ['too long', { company: 'x'.repeat(201) }, 'company is longer than 200 characters.'],
  ])('describeFault returns one sentence with the name of the field if its value is %s', (_name, wrong, sentence) => {
    const valid = { name: 'A', email: 'a@b.co', company: 'B' };
    expect(faultsOf(contractor_signup, { ...valid, ...wrong }).map(describeFault)).toEqual([sentence]);
  });

  test('validate reports an invalid e-mail address of any length as invalid, never as too long', () => {
    for (const length of [255, 2_000, 2_001]) {
      const email = `${'x'.repeat(length - 5)}@b.co`;
      expect(faultsOf(newsletter, { email })).toMatchObject([{ kind: 'email' }]);
    }
  });

  test('missingNames returns only the names of missing required fields', () => {
    expect(missingNames(faultsOf(contact, { email: 'nope', phone: 1, subject: '' }))).toEqual([
      'name',
      'subject',
      'message',
    ]);
  });
});

describe('validate, any input', () => {
  test('rejects values that are not strings, and ignores unknown fields', () => {
    for (const value of [null, 1, true, [], {}, ['x']]) {
      expect(fieldsOf(homeowner_quote, { ...quote, phone: value, unknown: value })).toEqual(['phone notText']);
    }
  });

  test('treats __proto__, constructor and toString as unknown field names', () => {
    const raw = JSON.parse('{"__proto__":{"email":"a@b.co"},"constructor":"x","toString":1}');
    expect(fieldsOf(newsletter, raw)).toEqual(['email missing']);
  });

  test('returns a normalized value unchanged, and repeats no value in a fault, for arbitrary strings', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: codePoint, maxLength: 60 }),
        fc.string({ unit: codePoint, maxLength: 60 }),
        (written, text) => {
          const name = `canary${written}`;
          const address = validate(newsletter, { email: `${text}a@b.co` });
          if (address.kind === 'valid') {
            expect(validate(newsletter, address.fields)).toEqual(address);
          }
          const once = validate(contractor_signup, {
            name,
            email: 'a@b.co',
            company: 'B',
            phone: text,
            message: text,
          });
          if (once.kind === 'invalid') {
            for (const fault of once.faults) expect(describeFault(fault)).not.toContain('canary');
            return;
          }
          expect(validate(contractor_signup, once.fields)).toEqual(once);
          for (const value of Object.values(once.fields))
            expect(value).not.toMatch(/[\u200b\u202a-\u202e\u2066-\u2069]/);
        },
      ),
      { numRuns: 2_000 },
    );
  });
});
