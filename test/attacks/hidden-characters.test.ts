/** Nothing that nobody sees is confirmed, whatever it is made of (ASVS 2.2.1; contract §4). */
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { isBlank, normalize } from '../../src/forms/fields.ts';
import { validate } from '../../src/forms/validate.ts';
import { executeAction, previewAction } from '../support/agent.ts';
import { post } from '../support/forms.ts';
import { scenario } from '../support/scenario.ts';

const at = scenario();

/** One of each kind of what is removed. */
const REMOVABLE = [
  '\u200b',
  '\u202e',
  '\u2060',
  '\u2065',
  '\u2069',
  '\u206a',
  '\ufeff',
  '\ufe0f',
  '\ufff0',
  '\ufffb',
  '\u{e0041}',
  '\u{e0100}',
  '\u{e01ef}',
  '\u{e0fff}',
];

/** Whatever was asked for, nothing of it may be left. */
const NEVER =
  /[\u200b\u202a-\u202e\u2060-\u206f\ufeff\ufff0-\ufffb]|[\u{e0000}-\u{e00ff}\u{e01f0}-\u{e0fff}]/u;

function messageOf(message: string): string {
  const written = { name: 'A', email: 'a@b.co', subject: 'S', message };
  const result = validate(forms.contact, written);
  if (result.kind === 'valid') return result.fields.message ?? '';
  return result.faults.map(({ field, kind }) => `${field.name} ${kind}`).join();
}

describe('hidden characters put together by removal', () => {
  test.each(REMOVABLE.map((removable) => [escaped(removable), removable]))(
    'the halves of a pair with %s between them are refused in every field',
    (_name, removable) => {
      for (const pair of ['\u{e0041}', '\u{1f600}', '\u{10ffff}', '\u{e0100}']) {
        const [first = '', second = ''] = [pair[0], pair[1]];
        const spliced = `Call me${first}${removable}${second}`;
        for (const { name } of forms.contact.fields) {
          const written = { name: 'A', email: 'a@b.co', subject: 'S', message: 'M' };
          const result = validate(forms.contact, { ...written, [name]: spliced });
          expect(result).toMatchObject({
            kind: 'invalid',
            faults: [{ field: { name }, kind: 'characters' }],
          });
        }
      }
    },
  );

  test('over HTTP: 400 on preview and on /api/leads, and nothing is sent', async () => {
    const contact = { name: 'A', email: 'a@example.com', subject: 's' };
    const message = 'Call me\udb40\u200b\udc41';
    await at.expecting({}, async () => {
      const preview = await previewAction(at.service, 'contact', { ...contact, message });
      expect([preview.status, preview.body.error]).toEqual([
        400,
        'message holds characters that can’t be used.',
      ]);
      const lead = { form: 'contact', ...contact, message };
      expect((await post(at.service, '/api/leads', 'json', lead)).status).toBe(400);
    });
  });

  test('over any UTF-16: normalizing twice changes nothing, and nothing hidden is left', () => {
    const unit = fc.oneof(
      {
        weight: 3,
        arbitrary: fc.constantFrom(...REMOVABLE.flatMap((each) => [each, ...units(each)])),
      },
      {
        weight: 2,
        arbitrary: fc.constantFrom('a', '葛', '☠', '\u0301', '\u200d', ' ', '\r', '\n', '\u2028'),
      },
      {
        weight: 1,
        arbitrary: fc.integer({ min: 0, max: 0xffff }).map((of) => String.fromCharCode(of)),
      },
    );
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 24 }), (written) => {
        const once = normalize(written);
        expect(normalize(once)).toBe(once);
        const result = validate(forms.contact, {
          name: 'A',
          email: 'a@b.co',
          subject: 'S',
          message: `m${written}m`,
        });
        expect(result.kind === 'valid' && !written.isWellFormed()).toBe(false);
        if (result.kind === 'valid') expect(result.fields.message).not.toMatch(NEVER);
      }),
      { numRuns: 20_000 },
    );
  });
});

describe('names and words of ours that are put together by removal', () => {
  test('choose no form, give no consent and name no site', async () => {
    const spliced = '\ud83d\u200b\ude00';
    const contact = { form: `contact${spliced}`, email: 'ada@example.com', name: 'A' };
    await at.expecting({ forwarded: 1 }, () => post(at.service, '/api/leads', 'json', contact));
    expect(at.upstream.delivered.at(-1)?.event.data.form).toBe('newsletter');
    const wanted = { email: 'ada@example.com', privacy: `on${spliced}` };
    await at.expecting({}, async () => {
      expect((await post(at.service, '/api/subscribe', 'json', wanted)).status).toBe(400);
    });
    const named = { ...wanted, privacy: 'on', contractor: 'shop\ud83d\u200b' };
    expect((await post(at.service, '/api/subscribe', 'json', named)).status).toBe(200);
    expect(at.upstream.delivered.at(-1)?.event.data.fields).toMatchObject({ contractor: 'direct' });
  });
});

describe('text carried in characters that nobody sees', () => {
  test('of variation selectors one is left behind a visible character, and none elsewhere', () => {
    const hidden = Array.from({ length: 1_848 }, (_, n) =>
      String.fromCodePoint(n % 256 < 16 ? 0xfe00 + (n % 16) : 0xe0100 + (n % 240)),
    ).join('');
    expect(messageOf(`Hello${hidden}`)).toBe('Hello\ufe00');
    expect(messageOf(`葛\u{e0100}${hidden}`)).toBe('葛\u{e0100}');
    expect(messageOf(`${hidden}Hello \ufe0f${hidden}you`)).toBe('Hello you');
    expect(messageOf('a\u{e0100}b\u0301\ufe0fc\u200d\ufe0fd')).toBe('ab\u0301c\u200dd');
    expect(messageOf('ᠠ\u180b\u180c\u180dᠡ')).toBe('ᠠ\u180bᠡ');
  });

  test('what is previewed and executed holds no more of it than what is shown', async () => {
    const written = { name: 'Ada', email: 'ada@example.com', postal_code: '94110' };
    const message = `Pay${'\u{e0100}\ufe01'.repeat(900)} me\u{e0049}\u206a\ufff9`;
    const { body } = await previewAction(at.service, 'homeowner_quote', { ...written, message });
    expect(body.fields).toEqual({ ...written, message: 'Pay me' });
    await executeAction(at.service, body.preview_id);
    expect(at.upstream.delivered.at(-1)?.event.data.fields).toEqual(body.fields);
  });
});

describe('marks piled on one letter', () => {
  test('eight combining marks in a row are taken, a ninth is refused', () => {
    for (const between of ['', '\u200d', '\u200c\u200c']) {
      const marks = (count: number) => Array(count).fill('\u0301').join(between);
      expect(messageOf(`a${marks(8)}b${marks(8)}`)).toBe(`a${marks(8)}b${marks(8)}`);
      expect(messageOf(`a${marks(9)}`)).toBe('message characters');
    }
    expect(messageOf(`a${'\u034f\u0301'.repeat(5)}`)).toBe('message characters');
    expect(messageOf(`a${'\u0488'.repeat(1_800)}`)).toBe('message characters');
  });
});

describe('values that nobody sees', () => {
  test.each([
    ['a null notehead', '\u{1d159}'],
    ['a Khitan filler', '\u{16fe4}'],
    ['two combining marks', '\u0301\u0302'],
    ['a spacing mark', '\u0903'],
    ['a blank Braille cell', '\u2800'],
    ['blank hieroglyphs', '\u{13441}\u{13442}'],
    ['Hangul fillers', '\u115f\u1160\u3164\uffa0'],
    ['Khmer vowels without a shape', '\u17b4\u17b5'],
    ['a soft hyphen and marks of direction', '\u00ad\u200e\u200f\u061c'],
    ['joiners', '\u200c\u200d\u034f'],
    ['musical beams', '\u{1d173}\u{1d17a}'],
    ['variation selectors', '\ufe0f\u{e0100}\u180b'],
    ['tags', '\u{e0041}\u{e007f}'],
    ['all of it, and white space', '\u{1d159}\u0301\u3164\u2800 \u00a0\u200d'],
  ])('%s: a required value is missing', (_name, name) => {
    const result = validate(forms.contact, { name, email: 'a@b.co', subject: 'S', message: 'M' });
    expect(result).toMatchObject({ faults: [{ field: { name: 'name' }, kind: 'missing' }] });
  });

  test('every character that Unicode gives no shape is blank, and every letter and digit is not', () => {
    for (let point = 0; point < 0x110000; point += 1) {
      const character = String.fromCodePoint(point);
      if (/\p{Default_Ignorable_Code_Point}|\p{White_Space}|\p{M}/u.test(character)) {
        expect([point.toString(16), isBlank(character)]).toEqual([point.toString(16), true]);
      } else if (/[\p{L}\p{N}]/u.test(character) && point !== 0x13441 && point !== 0x13442) {
        expect([point.toString(16), isBlank(character)]).toEqual([point.toString(16), false]);
      }
    }
  });
});

describe('what people write stays whole', () => {
  test.each([
    ['Persian, with a non-joiner', 'علی‌رضا می‌خواهم'],
    ['Hindi, with joiners', 'क्‍ष श्री‌मान् क्षत्रियज्ञ'],
    ['Hebrew, with points', 'דָּוִד בֶּן־גּוּרְיוֹן'],
    ['Arabic, with vowels', 'مُحَمَّدٌ'],
    ['Vietnamese, decomposed', 'Nguyễn Thị'.normalize('NFD')],
    ['Thai', 'ที่รัก น้ำ'],
    ['Burmese, dotted', 'က︀ေ︀ ကျွန်ုပ်'],
    ['Tibetan, with eight marks in a row', 'ཧྐྵྨླྺྼྻྂ'],
    ['Mongolian, with a selector', 'ᠮᠣᠩᠭ᠋ᠣᠯ'],
    ['Han with ideographic variation sequences', '葛󠄀城 辻󠄁 邉󠄂 々'],
    ['a Han character with a standardized variant', '豈︀'],
    ['a family', '👨‍👩‍👧‍👦 👩🏽‍❤️‍💋‍👨🏿'],
    ['emoji with selectors', '❤️ ☠︎ 👁️‍🗨️ 🏳️‍🌈 🏴‍☠️ 🏳️‍⚧️'],
    ['keycaps', '1️⃣ #️⃣ *️⃣ 0️⃣'],
    ['flags', '🇮🇳🇩🇪🇮🇱'],
    ['characters beyond 16 bits', '𝒜da 𠮷野家 𓀀'],
  ])('%s: %s', (_name, text) => {
    expect(messageOf(text)).toBe(text);
    expect(isBlank(normalize(text))).toBe(false);
  });

  test('but for the flag of England, which is spelt with tags: it keeps its staff', () => {
    expect(messageOf('🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}')).toBe('🏴');
  });
});

function escaped(text: string): string {
  return `U+${text.codePointAt(0)?.toString(16).toUpperCase()}`;
}

/** The UTF-16 units of a character, each as a string of its own. */
function units(character: string): string[] {
  return character.split('');
}
