import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLongerThan, lengthOf, normalize } from '../../src/forms/fields.ts';

/** The rules of contract §4 for one character after the other, as slow as they are plain. */
function withoutHidden(written: string): string {
  const removed =
    /^[\u200B\u202A-\u202E\u2060-\u206F\uFEFF\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}\p{Variation_Selector}]$/u;
  const visible =
    /^[^\p{Mn}\p{Me}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}]$/u;
  const characters = [...written];
  const stays = (character: string, before: string) =>
    /^[\u180B-\u180D\u180F\uFE00-\uFE0F]$/u.test(character)
      ? visible.test(before)
      : /^[\u{E0100}-\u{E01EF}]$/u.test(character) && /^\p{Script=Han}$/u.test(before);
  return characters
    .filter(
      (character, at) => !removed.test(character) || stays(character, characters[at - 1] ?? ''),
    )
    .join('');
}

const piece = fc.constantFrom(
  ...[
    'a',
    'é',
    '葛',
    '\u302a',
    '\u{1f600}',
    '\u{20000}',
    '\u0301',
    ' ',
    '\u2800',
    '\u200d',
    '\u180e',
  ],
  ...[
    '\ufe00',
    '\ufe0f',
    '\u180b',
    '\u180f',
    '\u{e0100}',
    '\u{e01ef}',
    '\u{e0041}',
    '\u200b',
    '\ufeff',
  ],
);
/** Runs of a few pieces, so long that they are found in more than one part. */
const text = fc
  .array(
    fc.tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.constantFrom(1, 2, 999, 2_003)),
  )
  .map((runs) => runs.map(([pieces, times]) => pieces.join('').repeat(times)).join(''));

test('texts of hidden characters lose what the rules say, one character after the other', () => {
  fc.assert(
    fc.property(text, (written) => {
      expect(normalize(written)).toBe(withoutHidden(written).trim());
    }),
    { numRuns: 60 },
  );
});

test('a text is longer than a number where it has more code points', () => {
  fc.assert(
    fc.property(text, fc.nat(3_000), (written, maximum) => {
      expect(isLongerThan(maximum, written)).toBe(lengthOf(written) > maximum);
    }),
    { numRuns: 60 },
  );
});

test('as many as a body holds are kept, and take no deeper stack', () => {
  const written = 'a\ufe0f'.repeat(131_072);
  expect(normalize(written)).toBe(written);
});
