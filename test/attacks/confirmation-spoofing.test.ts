/** A person must confirm what they see (ASVS 2.2.1). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { inboxPage, inboxTable } from '../../src/commands/inbox/formats.ts';
import { forms } from '../../src/forms/catalog.ts';
import { validate } from '../../src/forms/validate.ts';
import { executeAction, previewAction } from '../support/agent.ts';
import { scenario } from '../support/scenario.ts';
import { eventOf, keptSubmission } from '../support/submissions.ts';

const at = scenario();

/** Every format character, control, line and paragraph separator that Unicode has. */
const suspects = Array.from({ length: 0x110000 }, (_, point) => point).filter((point) =>
  /[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/u.test(String.fromCodePoint(point)),
);

const within = (point: number, ranges: readonly (readonly [number, number])[]) =>
  ranges.some(([from, to]) => from <= point && point <= to);

/** Contract §4, "Normalization": removed before anything else. */
const REMOVED = [
  [0x200b, 0x200b],
  [0x2060, 0x206f],
  [0xfeff, 0xfeff],
  [0xfff9, 0xfffb],
  [0x202a, 0x202e],
  [0xe0000, 0xe007f],
] as const;

/**
 * What stays: signs that are seen (Arabic and Kaithi numbers, Egyptian quadrats), joiners that words
 * are spelt with, marks of direction that Hebrew and Arabic text carries, and what no font shows.
 * The threat model says what the last two can still do.
 */
const KEPT = [
  [0xad, 0xad],
  [0x600, 0x605],
  [0x61c, 0x61c],
  [0x6dd, 0x6dd],
  [0x70f, 0x70f],
  [0x890, 0x891],
  [0x8e2, 0x8e2],
  [0x180e, 0x180e],
  [0x200c, 0x200f],
  [0x110bd, 0x110bd],
  [0x110cd, 0x110cd],
  [0x13430, 0x1343f],
  [0x1bca0, 0x1bca3],
  [0x1d173, 0x1d17a],
] as const;

function fateOf(field: 'subject' | 'message', point: number): string {
  const character = String.fromCodePoint(point);
  const written = { name: 'A', email: 'a@b.co', subject: 'S', message: 'M' };
  const result = validate(forms.contact, { ...written, [field]: `ab${character}cd` });
  if (result.kind === 'invalid') return 'refused';
  const value = result.fields[field];
  if (value === 'abcd') return 'removed';
  return value === `ab${character}cd` ? 'kept' : `changed to ${JSON.stringify(value)}`;
}

describe('confirmation spoofing', () => {
  test('every format character, control and separator of Unicode is removed, refused, or known to stay', () => {
    expect(suspects.length).toBeGreaterThan(200);
    for (const point of suspects) {
      const expected = within(point, REMOVED)
        ? 'removed'
        : within(point, KEPT)
          ? 'kept'
          : 'refused';
      expect([point.toString(16), fateOf('subject', point)]).toEqual([
        point.toString(16),
        expected,
      ]);
      const inText = [0x0d, 0x2028, 0x2029].includes(point)
        ? String.raw`changed to "ab\ncd"`
        : point === 0x09 || point === 0x0a
          ? 'kept'
          : expected;
      expect([point.toString(16), fateOf('message', point)]).toEqual([point.toString(16), inText]);
    }
  });

  test('what a person is shown is what is sent, without a character that deceives', async () => {
    const spoofed = {
      name: 'Ada\u202e ecalevoL',
      email: 'ada\u2066@\u200bexample.com',
      postal_code: '94\u{e0031}110',
      message: 'pay\u2060 \u2067me',
    };
    const { body } = await previewAction(at.service, 'homeowner_quote', spoofed);
    expect(body.fields).toEqual({
      name: 'Ada ecalevoL',
      email: 'ada@example.com',
      postal_code: '94110',
      message: 'pay me',
    });
    await executeAction(at.service, body.preview_id);
    expect(at.upstream.delivered.at(-1)?.event.data.fields).toEqual(body.fields);
  });

  test('names in Persian, Hindi and Hebrew, and emoji, stay whole however they are put together', () => {
    // Whole graphemes: no word piles nine marks, or has a selector behind a mark.
    const graphemes = new Intl.Segmenter();
    const letters = ['علیرضا', 'क्षत्रियज्ञ', 'דודשלום', 'José'].flatMap((name) =>
      Array.from(graphemes.segment(name), ({ segment }) => segment),
    );
    const joined = fc.string({
      unit: fc.constantFrom(
        ...letters,
        '\u200c',
        '\u200d',
        '👩',
        '🏽',
        '👧',
        '🏴',
        '☠\ufe0f',
        '🇮🇳',
      ),
      maxLength: 40,
    });
    fc.assert(
      fc.property(joined, (middle) => {
        const name = `א${middle}א`;
        const result = validate(forms.newsletter, { email: 'a@b.co' });
        expect(result.kind).toBe('valid');
        const named = { name, email: 'a@b.co', subject: 'S', message: name };
        expect(validate(forms.contact, named)).toMatchObject({ fields: { name, message: name } });
      }),
    );
  });

  test.each([
    ['Latin with a Cyrillic letter', 'аpple', true],
    ['Latin with a Greek letter', 'gοogle', true],
    ['Cyrillic with a Greek letter', 'мοсква', true],
    ['Latin with an Armenian letter', 'gօogle', true],
    ['Latin with a Cherokee letter', 'ꭺpple', true],
    ['Latin with a Georgian letter', 'appleჿ', true],
    ['Latin alone', 'münchen-2', false],
    ['Cyrillic alone', 'москва', false],
    ['Greek alone', 'αθήνα', false],
    ['Japanese with Latin, as it is written', 'tokyo東京とキョー', false],
    ['Korean with Latin', 'seoul서울', false],
  ])('a domain of %s (%s): marked in the inbox, %s', (_name, label, marked) => {
    const email = `ada@${label}.example`;
    const parsed = validate(forms.newsletter, { email });
    if (parsed.kind !== 'valid') return expect.fail(`${email} is refused`);
    const item = keptSubmission(eventOf({ form: 'newsletter', fields: parsed.fields }));
    expect(inboxTable([item]).join().includes('(mixed scripts)')).toBe(marked);
    expect(inboxPage(item).join().includes('mixes scripts')).toBe(marked);
  });
});
