import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { normalize } from '../../../src/forms/fields.ts';
import { parseSearch } from '../../../src/submissions/read/search.ts';
import { searchTextOf, shortReference } from '../../../src/submissions/submission.ts';

const id = '0190a000-0000-7000-8000-00000000abcd';
const textsOf = (typed: string) => parseSearch(typed)?.map(({ text }) => text);
const textOf = (fields: Record<string, string>) => searchTextOf({ id, client: null, fields });

const anyCharacter = fc
  .oneof(fc.integer({ min: 0, max: 0x3000 }), fc.integer({ min: 0, max: 0x10ffff }))
  .map((codePoint) => String.fromCodePoint(codePoint));

describe('parseSearch', () => {
  test.each([
    ['Ada', ['ada']],
    [' two  ROOMS\u00a0now\t', ['two', 'rooms', 'now']],
    ['50% off_white', ['50%', 'off_white']],
    ['José Łódź', ['jose', 'łodz']],
    ['ｗｉｄｅ ﬁne', ['wide', 'fine']],
    ['O’Neil "Jo"', ["o'neil", "'jo'"]],
    ['‘a’ “b”', ["'a'", "'b'"]],
    ['a\0b\x1fc', ['a', 'b', 'c']],
    [id.toUpperCase(), [id]],
  ])('splits and folds %j into %j', (typed, words) => {
    expect(textsOf(typed)).toEqual(words);
  });

  test.each(['', '  ', '\u200b', '\n', '\0', '\u0301'])('returns undefined for %j', (typed) => {
    expect(textsOf(typed)).toBeUndefined();
  });

  test('returns at most 20 words and 200 code points', () => {
    const letters = Array.from({ length: 25 }, (_, index) => `w${index}`);
    expect(textsOf(letters.join(' '))).toEqual(letters.slice(0, 20));
    expect(textsOf('🎨'.repeat(300))).toEqual(['🎨'.repeat(200)]);
  });

  test('returns only words without white space and control characters for arbitrary text', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (typed) => {
        const words = textsOf(typed) ?? [];
        const isWord = (word: string) => /^[^\s\p{Cc}]+$/u.test(word);
        expect(words.filter((word) => !isWord(word))).toEqual([]);
      }),
    );
  });
});

describe('searchTextOf', () => {
  test('contains every value, the client, the reference and the digits of the telephone number', () => {
    const fields = { name: 'Zoë “Z” ', phone: '+1 (415) 555-01.00', message: 'Two\nROOMS' };
    expect(searchTextOf({ id, client: 'Acme', fields })).toBe(
      `zoe 'z' \n+1 (415) 555-01.00\ntwo\nrooms\nacme\n${id}\n${shortReference(id).toLowerCase()}\n\x1f14155550100`,
    );
  });

  test('contains each word that a person types, with the same letters as in the stored value', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), (text) => {
        const message = normalize(text);
        fc.pre(message.isWellFormed());
        for (const word of textsOf(message) ?? []) {
          expect(textOf({ message })).toContain(word);
        }
      }),
    );
  });
});

describe('shortReference', () => {
  test.each([
    ['00000000-0000-7000-8000-000000000000', '0000-0000'],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', 'ZZZZ-ZZZZ'],
    ['0190a000-0000-7000-8000-00000000abcd', '0000-1AYD'],
  ])('writes the last 40 bits of %s as %s', (uuid, short) => {
    expect(shortReference(uuid)).toBe(short);
  });
});
