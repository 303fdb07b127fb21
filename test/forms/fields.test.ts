import { describe, expect, test } from 'vitest';
import { hasForbiddenCharacter, lengthOf, normalize, parseEmail } from '../../src/forms/fields.ts';
import { isBlank } from '../../src/forms/invisible-characters.ts';

describe('normalize, lengthOf and isBlank (reference §2.4)', () => {
  test.each([
    ['between letters beyond ASCII', 'ф\u200bф', 'фф'],
    ['before and after ASCII', '\u2060a\ufeff', 'a'],
    ['of text direction', '\u202a\u202b\u202c\u202d\u202ea', 'a'],
    ['that isolate text direction', '\u2066\u2067\u2068\u2069a', 'a'],
    ['without a visible effect', '\u2060\u2061\u2062\u2063\u2064\u2065\u206a\u206fa', 'a'],
    ['of annotations, and unassigned characters beside these', '\ufff0\ufff8\ufff9\ufffba', 'a'],
    ['of the block Tags', '\u{e0000}\u{e0041}\u{e007f}a', 'a'],
    ['of the rest of the plane of Tags', '\u{e0080}\u{e00ff}\u{e0100}\u{e01ef}\u{e01f0}\u{e0fff}a', 'a'],
    ['that select a variant of a character without variants', '\ufe0fa \ufe0f\u200d\ufe0fb', 'a \u200db'],
    ['that select a variant a second time', 'a\ufe0f\ufe0e葛\u{e0100}\u{e0101}\ufe00', 'a\ufe0f葛\u{e0100}'],
  ])('normalize removes deceiving characters %s', (_name, written, kept) => {
    expect(normalize(written)).toBe(kept);
  });

  test('normalize keeps the characters whose code points are next to those of deceiving characters', () => {
    const kept = '\u200a\u200c\u2029\u202f\u205f\u2070\u200d\ufefe\uff00\uffef\ufffc\u{dffff}\u{e1000}';
    expect(normalize(`a${kept}b`)).toBe(`a${kept.replace('\u2029', '\n')}b`);
  });

  test('normalize does not change text with lone surrogates', () => {
    for (const written of [' \ud83d\u200b\ude00 ', '\udb40\u{e0041}\udc41', '\ufeff\udfff\r\n']) {
      expect(normalize(written)).toBe(written);
    }
  });

  test.each([
    ['a\rb', 'a\nb'],
    ['a\r\nb', 'a\nb'],
    ['a\r\n\r\nb', 'a\n\nb'],
    ['a\r\rb', 'a\n\nb'],
    ['a\n\rb', 'a\n\nb'],
    ['a\u2028b', 'a\nb'],
    ['a\u2029b', 'a\nb'],
    ['a\nb', 'a\nb'],
    ['\r\n a \u2029', 'a'],
  ])('normalize converts line breaks to LF and trims the text (%j)', (written, kept) => {
    expect(normalize(written)).toBe(kept);
  });

  test('lengthOf counts code points, a combining mark as one, and not UTF-16 units', () => {
    expect([lengthOf(''), lengthOf('abc'), lengthOf('é'), lengthOf('e\u0301')]).toEqual([0, 3, 1, 2]);
    expect([lengthOf('\u{1f58c}'), lengthOf('a\u{1f58c}b'), lengthOf('\u{1f58c}\u{1f58c}')]).toEqual([1, 3, 2]);
  });

  test.each(['', ' ', '\n\t', '\u00a0\u3000', '\u2800', '\u00ad', '\u034f', '\u0600', '\ufffc'])(
    'isBlank returns true for %j',
    (text) => {
      expect(isBlank(text)).toBe(true);
    },
  );

  test.each(['a', '.', ' a', 'a ', '\u2801', 'ا', '👩', '\u200da'])('isBlank returns false for %j', (text) => {
    expect(isBlank(text)).toBe(false);
  });

  test('hasForbiddenCharacter allows line feeds only in fields of the kind text', () => {
    for (const text of ['a\nb', 'a\n']) {
      expect(hasForbiddenCharacter('text', text)).toBe(false);
      for (const kind of ['line', 'phone', 'email', 'code', 'choice'] as const) {
        expect(hasForbiddenCharacter(kind, text)).toBe(true);
      }
    }
    for (const kind of ['line', 'phone', 'email', 'code', 'choice', 'text'] as const) {
      expect(hasForbiddenCharacter(kind, 'a b')).toBe(false);
      expect(hasForbiddenCharacter(kind, 'a\vb')).toBe(true);
    }
  });
});

describe('parseEmail (reference §2.7)', () => {
  test('accepts 64 characters before the @ and 253 after it, and not one more on either side', () => {
    const domain = (length: number) =>
      `${'a'.repeat(63)}.${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(length - 3 * 64)}`;
    expect(domain(253)).toHaveLength(253);
    expect(parseEmail(`${'x'.repeat(64)}@${domain(253)}`)).toBe(`${'x'.repeat(64)}@${domain(253)}`);
    expect(parseEmail(`x@${domain(254)}`)).toBeUndefined();
    expect(parseEmail(`${'x'.repeat(65)}@a.co`)).toBeUndefined();
  });

  test.each(['.ada', 'ada.', 'a..b', '.', '..', 'a.b..c', `${'a.'.repeat(31)}a.`])(
    'rejects a first, last or doubled dot before the @ (%j)',
    (local) => {
      expect(parseEmail(`${local}@example.com`)).toBeUndefined();
    },
  );

  test('accepts single dots between other characters before the @', () => {
    for (const local of ['a.b', 'a.b.c', '-.-', "o'neil.x+y", `${'a.'.repeat(31)}ab`]) {
      expect(parseEmail(`${local}@example.com`)).toBe(`${local}@example.com`);
    }
  });

  test('accepts domain labels of 1 to 63 letters, digits and inner hyphens, and rejects others', () => {
    for (const label of ['a', '1', 'a-b', 'a--b', '1-2', 'a'.repeat(63)]) {
      expect(parseEmail(`x@${label}.co`)).toBe(`x@${label}.co`);
      expect(parseEmail(`x@co.${label}`)).toBe(`x@co.${label}`);
    }
    for (const label of ['', '-', '-a', 'a-', 'a_b', 'a'.repeat(64)]) {
      expect(parseEmail(`x@${label}.co`), label).toBeUndefined();
      expect(parseEmail(`x@co.${label}`), label).toBeUndefined();
    }
  });

  test.each(['example.com', '@example.com', '@', '', 'x@', 'x@@example.com', 'x y@example.com'])(
    'rejects an address without exactly one @ between two parts (%j)',
    (written) => {
      expect(parseEmail(written)).toBeUndefined();
    },
  );

  test('lower-cases both parts, also beyond ASCII, and converts the domain to ASCII', () => {
    expect(parseEmail('Ada@Example.COM')).toBe('ada@example.com');
    expect(parseEmail('Ada@BÜCHER.example')).toBe('ada@xn--bcher-kva.example');
    expect(parseEmail('ada@bücher.EXAMPLE')).toBe('ada@xn--bcher-kva.example');
  });

  test.each(['\u212aate@example.com', 'ada\u212a@example.com', '\u017fam@example.com', 'İ@a.co'])(
    'rejects a character beyond ASCII before the @, even if lower case would make it ASCII (%s)',
    (written) => {
      expect(parseEmail(written)).toBeUndefined();
    },
  );

  test.each(['ada@bü_cher.example', 'ada@bü%2echer.example', 'ada@bü cher.example', 'ada@0x7fü/1.co'])(
    'rejects a domain that percent-decoding or normalization could turn into another domain (%s)',
    (written) => {
      expect(parseEmail(written)).toBeUndefined();
    },
  );
});
