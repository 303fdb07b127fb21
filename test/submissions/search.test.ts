import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isFound, parseSearch } from '../../src/submissions/search.ts';
import { lookedFor } from '../../src/submissions/submission.ts';

const UUID = '0190a000-0000-7000-8000-00000000abcd';

describe('what is typed into a search', () => {
  test.each([
    [UUID, { kind: 'reference', id: UUID }],
    [` ${UUID.toUpperCase()} `, { kind: 'reference', id: UUID }],
    ['+1 (555) 01-00', { kind: 'telephone', digits: '15550100' }],
    ['555/0100.2', { kind: 'telephone', digits: '55501002' }],
    ['94110', { kind: 'telephone', digits: '94110' }],
    ['Ada@', { kind: 'address', begins: 'ada@' }],
    ['ADA@Example.com', { kind: 'address', begins: 'ada@example.com' }],
    ['ada@exam', { kind: 'address', begins: 'ada@exam' }],
    ['ada@пример.example', { kind: 'address', begins: 'ada@xn--e1afmkfd.example' }],
    ['Ada', { kind: 'words', begins: 'ada', words: ['ada'] }],
    ['50% off_white', { kind: 'words', begins: '50% off_white', words: ['50%', 'off_white'] }],
    ['room 12', { kind: 'words', begins: 'room 12', words: ['room', '12'] }],
    ['---', { kind: 'words', begins: '---', words: ['---'] }],
    [`${UUID}0`, { kind: 'words', begins: `${UUID}0`, words: [`${UUID}0`] }],
  ])('%j is %j', (typed, search) => {
    expect(parseSearch(typed)).toEqual(search);
  });

  test.each(['', '  ', '\u200b', '\n'])('%j is nothing that can be looked for', (typed) => {
    expect(parseSearch(typed)).toBeUndefined();
  });

  test('is read without a fault, whatever it is', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), (typed) => {
        const search = parseSearch(typed);
        if (search?.kind === 'telephone') expect(search.digits).toMatch(/^\d+$/);
        if (search?.kind === 'words') expect(search.words).not.toContain('');
      }),
    );
  });
});

describe('words', () => {
  const fields = {
    name: 'Ada Løvelace',
    email: 'ada@example.com',
    message: 'Two ROOMS, 50% white',
  };
  test.each([
    ['ada', true],
    ['rooms løvelace', true],
    ['RoomS', true],
    ['50%', true],
    ['5_%', false],
    ['rooms three', false],
    ['example.com', true],
    ['message', false],
  ])('%j: found in any field, all of them, in any case: %s', (typed, found) => {
    const search = parseSearch(typed);
    if (search?.kind !== 'words') return expect.fail();
    expect(isFound(search, fields)).toBe(found);
  });
});

test.each([
  ['+1 (415) 555-01.00/7\u00a08', '1415555010078'],
  ['0x', '0x'],
])('a telephone number is looked for by its digits: %s', (phone, telephone) => {
  expect(lookedFor({ phone })).toEqual({ email: null, telephone });
});

test('of what is too long for a telephone number the beginning is compared, by whole characters', () => {
  const digits = '1234567890'.repeat(10);
  expect(lookedFor({ phone: digits }).telephone).toBe(digits.slice(0, 64));
  expect(parseSearch(`+${digits}`)).toEqual({ kind: 'telephone', digits: digits.slice(0, 64) });
  expect(lookedFor({ phone: `1${'🎨'.repeat(70)}` }).telephone).toBe(`1${'🎨'.repeat(63)}`);
});

test.each(['\0', 'ada\0@example.com', 'a\0b'])('%j is in nothing that is kept', (typed) => {
  expect(parseSearch(typed)).toBeUndefined();
});

test('what has neither an address nor a telephone number is not looked for by them', () => {
  expect(lookedFor({})).toEqual({ email: null, telephone: null });
});
