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

/** Every format character, control, line and paragraph separator of Unicode. */
const suspects = Array.from({ length: 0x110000 }, (_, point) => point).filter((point) =>
  /[\p{Cf}\p{Cc}\p{Zl}\p{Zp}]/u.test(String.fromCodePoint(point)),
);

const within = (point: number, ranges: readonly (readonly [number, number])[]) =>
  ranges.some(([from, to]) => from <= point && point <= to);

/** Reference §2.4 removes these before anything else. */
const REMOVED = [
  [0x200b, 0x200b],
  [0x2060, 0x206f],
  [0xfeff, 0xfeff],
  [0xfff9, 0xfffb],
  [0x202a, 0x202e],
  [0xe0000, 0xe007f],
] as const;

/**
 * Characters that stay: visible signs (Arabic and Kaithi numbers, Egyptian quadrats) and joiners that spelling needs.
 * Marks of direction and characters without a shape stay, too. The threat model names their risk.
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
  test('removes, refuses or keeps each format character, control and separator of Unicode, as listed', () => {
    expect(suspects.length).toBeGreaterThan(200);
    for (const point of suspects) {
      const expected = within(point, REMOVED) ? 'removed' : within(point, KEPT) ? 'kept' : 'refused';
      expect([point.toString(16), fateOf('subject', point)]).toEqual([
        point.toString(16),
        point === 0x09 ? 'changed to "ab cd"' : expected,
      ]);
      const inText = [0x0b, 0x0c, 0x0d, 0x85, 0x2028, 0x2029].includes(point)
        ? String.raw`changed to "ab\ncd"`
        : point === 0x09 || point === 0x0a
          ? 'kept'
          : expected;
      expect([point.toString(16), fateOf('message', point)]).toEqual([point.toString(16), inText]);
    }
  });

  test('previews and sends the same text, without the deceiving characters of the request', async () => {
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

  test('validation keeps any combination of Persian, Hindi and Hebrew letters and emoji unchanged', () => {
    // Join whole graphemes, because no word has nine marks in a row or a selector after a mark.
    const graphemes = new Intl.Segmenter();
    const letters = ['علیرضا', 'क्षत्रियज्ञ', 'דודשלום', 'José'].flatMap((name) =>
      Array.from(graphemes.segment(name), ({ segment }) => segment),
    );
    const emoji = ['👩', '🏽', '👧', '🏴', '☠\ufe0f', '☠\ufe0f\u200d👧', '🇮🇳'];
    const joinable = letters.flatMap((letter) => [letter, `${letter}\u200c`, `${letter}\u200d`]);
    const joined = fc.string({ unit: fc.constantFrom(...joinable, ...emoji), maxLength: 40 });
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
    ['only Latin', 'münchen-2', false],
    ['only Cyrillic', 'москва', false],
    ['only Greek', 'αθήνα', false],
    ['Japanese with Latin, which is usual', 'tokyo東京とキョー', false],
    ['Korean with Latin', 'seoul서울', false],
  ])('inbox marks a domain of %s (%s) as mixed scripts: %s', (_name, label, marked) => {
    const email = `ada@${label}.example`;
    const parsed = validate(forms.newsletter, { email });
    if (parsed.kind !== 'valid') return expect.fail(`${email} is refused`);
    const item = keptSubmission(eventOf({ form: 'newsletter', fields: parsed.fields }));
    expect(inboxTable([item]).join().includes('(mixed scripts)')).toBe(marked);
    expect(inboxPage(item).join().includes('mixes scripts')).toBe(marked);
  });
});
