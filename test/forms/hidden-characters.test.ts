import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isLongerThan, lengthOf, normalize } from '../../src/forms/fields.ts';

const INVISIBLE =
  /^[\p{Default_Ignorable_Code_Point}\u2800\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]$/u;

/** Reference implementation of reference §2.6 rule 4, one character at a time. */
function withoutSurplus(text: string): string {
  const characters = [...text];
  let isOneBehindBlanks = false;
  return characters
    .filter((character, at) => {
      const before = characters[at - 1] ?? ' ';
      const isBehindBlank = /[\s\x85]/.test(before);
      if (!INVISIBLE.test(character)) {
        if (!/[\s\x85]/.test(character)) isOneBehindBlanks = false;
        return true;
      }
      const around = [characters[at - 2], before, character, characters[at + 1]].join('');
      if (/^\p{Extended_Pictographic}\uFE0F\u200D\p{Extended_Pictographic}$/u.test(around)) return true;
      if (INVISIBLE.test(before)) return false;
      const stays = !isBehindBlank || !isOneBehindBlanks;
      isOneBehindBlanks ||= isBehindBlank;
      return stays;
    })
    .join('');
}

/** Slow and simple implementation of reference §2.4, one character at a time. */
function withoutHidden(written: string): string {
  const removed = /^[\u200B\u202A-\u202E\u2060-\u206F\uFEFF\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}\p{Variation_Selector}]$/u;
  const visible =
    /^[^\p{Mn}\p{Me}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}]$/u;
  const characters = [...written];
  const stays = (character: string, before: string) =>
    /^[\u180B-\u180D\u180F\uFE00-\uFE0F]$/u.test(character)
      ? visible.test(before)
      : /^[\u{E0100}-\u{E01EF}]$/u.test(character) && /^\p{Script=Han}$/u.test(before);
  return characters
    .filter((character, at) => !removed.test(character) || stays(character, characters[at - 1] ?? ''))
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
    '\u3164',
    '\ufffc',
    '☠',
    '☠\ufe0f\u200d',
    '\x85',
  ],
  ...['\ufe00', '\ufe0f', '\u180b', '\u180f', '\u{e0100}', '\u{e01ef}', '\u{e0041}', '\u200b', '\ufeff'],
);
/** Runs of a few characters, long enough to be processed in more than one part. */
const text = fc
  .array(fc.tuple(fc.array(piece, { minLength: 1, maxLength: 4 }), fc.constantFrom(1, 2, 999, 2_003)))
  .map((runs) => runs.map(([pieces, times]) => pieces.join('').repeat(times)).join(''));

test('normalize removes the same characters as the reference implementation, and no more when repeated', () => {
  fc.assert(
    fc.property(text, (written) => {
      const shown = normalize(written);
      expect(shown).toBe(withoutSurplus(withoutHidden(written)).trim());
      expect(normalize(shown)).toBe(shown);
    }),
    { numRuns: 120 },
  );
});

test('isLongerThan returns true if lengthOf counts more code points than the maximum', () => {
  fc.assert(
    fc.property(text, fc.nat(3_000), (written, maximum) => {
      expect(isLongerThan(maximum, written)).toBe(lengthOf(written) > maximum);
    }),
    { numRuns: 60 },
  );
});

test('normalize keeps as many variation selectors as fit into a request body, without a stack overflow', () => {
  const written = 'a\ufe0f'.repeat(131_072);
  expect(normalize(written)).toBe(written);
});
