/** Functions on values of the forms that decide what a person or a client sees. */
import { describe, expect, test } from 'vitest';
import { exampleFields, forms, isHoneypotFilled, leastFields, valuesOf } from '../../src/forms/catalog.ts';
import { hasPiledMarks, maskedAddress, normalize } from '../../src/forms/fields.ts';
import { isName } from '../../src/forms/names.ts';
import { isConsent, originOf } from '../../src/forms/subscription.ts';
import { ignoredNames } from '../../src/forms/validate.ts';

const contact = forms.contact;

describe('valuesOf', () => {
  const values = { subject: 'Walls', message: 'Two rooms', name: 'Ada', email: 'ada@example.com' };

  test('returns the values of fields of these kinds, in the order of the form', () => {
    const kinds = contact.fields.map(({ kind }) => kind);
    const others = contact.fields.filter(({ name }) => name !== 'name' && name in values).map(({ name }) => name);
    expect(valuesOf('contact', values, kinds)).toEqual(others.map((name) => values[name as keyof typeof values]));
    expect(valuesOf('contact', values, ['email'])).toEqual(['ada@example.com']);
    expect(valuesOf('contact', values, [])).toEqual([]);
  });

  test('leaves the name and missing values out', () => {
    expect(valuesOf('contact', { name: 'Ada' }, ['line', 'text', 'email'])).toEqual([]);
  });

  test('returns nothing for a form that does not exist', () => {
    expect(valuesOf('constructor', values, ['email'])).toEqual([]);
  });
});

test.each([
  [{}, false],
  [{ 'bot-field': '' }, false],
  [{ 'bot-field': ' \n' }, false],
  [{ 'bot-field': ' x ' }, true],
])('the honeypot of %j is filled: %s', (values, filled) => {
  expect(isHoneypotFilled(values)).toBe(filled);
});

test('the smallest example has exactly the required fields', () => {
  for (const form of Object.values(forms)) {
    const required = form.fields.filter((field) => field.required).map(({ name }) => name);
    expect(Object.keys(leastFields(form))).toEqual(required);
    expect(exampleFields(form)).toMatchObject(leastFields(form));
    expect(Object.keys(exampleFields(form))).toEqual(form.fields.map(({ name }) => name));
  }
});

test.each([
  ['ada@example.com', 'a•••@e•••.com'],
  ['b@mail.example.co.uk', 'b•••@m•••.uk'],
  ['', '•••@•••.'],
])('the mask of “%s” is “%s”', (email, masked) => {
  expect(maskedAddress(email)).toBe(masked);
});

describe('ignoredNames', () => {
  test('returns names that the form does not have, and no others', () => {
    expect(ignoredNames(contact, { email: 'x', colour: 1, size_2: null, 'a-b': [] })).toEqual([
      'colour',
      'size_2',
      'a-b',
    ]);
  });

  test('leaves out names that a header could not repeat', () => {
    const names = ['a b', 'ä', 'a,b', 'a\nb', '', 'x'.repeat(101), ' a', 'a '];
    expect(ignoredNames(contact, Object.fromEntries(names.map((name) => [name, 1])))).toEqual([]);
    expect(ignoredNames(contact, { ['x'.repeat(100)]: 1 })).toHaveLength(1);
  });

  test('returns the first 20 names', () => {
    const names = Array.from({ length: 25 }, (_, at) => `n${at}`);
    expect(ignoredNames(contact, Object.fromEntries(names.map((name) => [name, 1])))).toEqual(names.slice(0, 20));
  });
});

describe('isName', () => {
  test.each([
    ['Acme Assistant', true],
    ['Zoë', true],
    ['Zoe\u0308', false],
    ['', false],
    ['\u2800', false],
    [' Acme', false],
    ['Acme\n', false],
    ['A\nB', false],
    ['A\tB', false],
    ['A\u200bB', false],
    ['A\u0007B', false],
    [`a${'\u0301'.repeat(8)}`.normalize('NFC'), true],
    [`a${'\u0301'.repeat(11)}`.normalize('NFC'), false],
  ])('of %j is %s', (name, accepted) => {
    expect(isName(100, name)).toBe(accepted);
  });

  test('counts code points against the maximum', () => {
    expect(isName(3, '😀😀😀')).toBe(true);
    expect(isName(3, '😀😀😀😀')).toBe(false);
    expect(isName(3, 'abcd')).toBe(false);
  });
});

test.each([
  [8, false],
  [9, true],
])('%i marks on a letter are piled: %s, also with invisible characters between them', (count, piled) => {
  for (const mark of ['\u0301', '\u20dd', '\u0301\u00ad', '\u0301\u200d\u2060']) {
    expect(hasPiledMarks(`a${mark.repeat(count)}`)).toBe(piled);
  }
});

test('marks of several letters do not pile', () => {
  expect(hasPiledMarks(`a${'\u0301'.repeat(8)}b${'\u0301'.repeat(8)}`)).toBe(false);
});

test.each([
  ['on', true],
  ['true', true],
  ['yes', true],
  ['1', true],
  [' on\n', true],
  ['ON', false],
  ['off', false],
  ['', false],
  [undefined, false],
])('privacy %j means consent: %s', (privacy, consent) => {
  expect(isConsent(privacy)).toBe(consent);
});

test.each([
  ['acme-paint', 'acme-paint'],
  [' Acme-2 ', 'acme-2'],
  ['acme--paint', 'direct'],
  ['-acme', 'direct'],
  ['acme-', 'direct'],
  ['acme paint', 'direct'],
  ['\u212aiosk', 'direct'],
  ['', 'direct'],
  [undefined, 'direct'],
  ['a'.repeat(100), 'a'.repeat(100)],
  ['a'.repeat(101), 'direct'],
])('a subscription with the contractor %j is from “%s”', (contractor, origin) => {
  expect(originOf(contractor)).toBe(origin);
});

test('normalize trims blanks beside hidden characters, breaks and folded characters', () => {
  expect(normalize('\u200b x ü \u200b')).toBe('x ü');
  expect(normalize('\u2028x ü\u2028', 'text')).toBe('x ü');
  expect(normalize('\u200b\uff21@example.com \u200b', 'email')).toBe('A@example.com');
  expect(normalize('\u3000\uff11\uff12\u3000', 'phone')).toBe('12');
  expect(normalize('a\tb\u00e9', 'line')).toBe('a b\u00e9');
  expect(normalize('a\tb\u00e9', 'text')).toBe('a\tb\u00e9');
});
