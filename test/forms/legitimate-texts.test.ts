/** Texts in many scripts that the rules against hidden characters must not change (reference §2.4). */
import { describe, expect, test } from 'vitest';
import { forms } from '../../src/forms/catalog.ts';
import { normalize } from '../../src/forms/fields.ts';
import { isBlank } from '../../src/forms/invisible-characters.ts';
import { validate } from '../../src/forms/validate.ts';

const TEXTS: [script: string, text: string][] = [
  ['Persian, with a non-joiner', 'علی‌رضا می‌خواهم'],
  ['Persian, an abbreviation that ends in a joiner', '۱۳۵۰ ه\u200d. ش'],
  ['Arabic, with vowels', 'مُحَمَّدٌ'],
  ['Arabic, with a mark of direction behind a bracket', 'الشقة (رقم 3)\u200f الطابق'],
  ['Arabic, with a letter mark before a number', 'هاتف: \u061c+962 6 555 0100'],
  ['Arabic number signs', '\u0600١٢٣ \u06dd٤'],
  ['Urdu', 'مجھے دو کمرے پینٹ کروانے ہیں'],
  ['Hebrew, with points', 'דָּוִד בֶּן־גּוּרְיוֹן'],
  ['Hebrew, with a grapheme joiner between points', 'יְרוּשָׁלִ\u034fַם'],
  ['Hebrew, a telephone number behind a mark of direction', 'טלפון: \u200e+972-50-555-0100'],
  ['Hebrew, marks of direction on both sides of a blank', 'שלום!\u200f \u200e+972 50'],
  ['Hebrew, a mark of direction at the beginning', '\u200fשלום (עולם)'],
  ['Hebrew, lines that begin with marks of direction', '\u200fiPhone שלי\n\u200fPaint טוב'],
  ['Hindi, with joiners', 'क्‍ष श्री‌मान् क्षत्रियज्ञ'],
  ['Marathi, an eyelash ra', 'दर्‍या तर्‍हा'],
  ['Bengali, ra with a joiner', 'র‍্যাপার র‍্যাম'],
  ['Malayalam, chillus with joiners', 'അവന്‍ അവള്‍ മലര്‍'],
  ['Malayalam, chillus of their own', 'അവൻ അവൾ മലർ'],
  ['Sinhala, with joiners', 'ශ්‍රී ලංකා ක්‍ෂේත්‍ර'],
  ['Kannada, with a non-joiner', 'ಎಕ್ಸ್‌ಪ್ರೆಸ್'],
  ['Telugu, with a non-joiner', 'సాఫ్ట్‌వేర్'],
  ['Tamil', 'வணக்கம், இரண்டு அறைகள்'],
  ['Khmer', 'សួស្តី ខ្ញុំចង់'],
  ['Thai', 'ที่รัก น้ำ'],
  ['Lao', 'ສະບາຍດີ ນ້ຳ'],
  ['Burmese, dotted', 'က︀ေ︀ ကျွန်ုပ်'],
  ['Tibetan, with eight marks in a row', 'ཧྐྵྨླྺྼྻྂ'],
  ['Mongolian, with a selector', 'ᠮᠣᠩᠭ᠋ᠣᠯ'],
  ['Mongolian, with every selector', 'ᠠ᠋ᠡ᠌ᠢ᠍ᠣ᠏'],
  ['Mongolian, with a vowel separator', 'ᠬᠠᠨ᠎ᠠ ᠠᠬ᠎ᠠ'],
  ['Korean', '안녕하세요 두 개의 방'],
  ['Korean of old, with a filler', '\u115fᅡ ᄀ\u1160ᆫ'],
  ['Chinese and Japanese', '你好,我想粉刷两个房间。ペンキ屋さん'],
  ['Han with ideographic variation sequences', '葛󠄀城 辻󠄁 邉󠄂 々'],
  ['a Han character with a standardized variant', '豈︀'],
  ['Vietnamese, decomposed', 'Nguyễn Thị'.normalize('NFD')],
  ['German, decomposed and with soft hyphens', `${'Wände'.normalize('NFD')} Donau\u00addampf\u00adschiff`],
  ['Braille', '⠓⠑⠇⠇⠕⠀⠺⠕⠗⠇⠙'],
  ['a family', '👨‍👩‍👧‍👦 👩🏽‍❤️‍💋‍👨🏿'],
  ['emoji with selectors', '❤️ ☠︎ 👁️‍🗨️ 🏳️‍🌈 🏴‍☠️ 🏳️‍⚧️'],
  ['newer emoji', '❤️‍🔥 ⛓️‍💥 🚶🏻‍♀️‍➡️ 🙂‍↔️ 🧑🏽‍🎨 🐦‍⬛'],
  ['an emoji with a selector before a marked number', '☎️ \u200e+972 50 555 0100'],
  ['keycaps', '1️⃣ #️⃣ *️⃣ 0️⃣'],
  ['flags', '🇮🇳🇩🇪🇮🇱'],
  ['characters beyond 16 bits', '𝒜da 𠮷野家 𓀀'],
  ['hieroglyphs in a quadrat', '𓊪\u{13430}𓏏\u{13431}𓇋'],
];

function messageOf(message: string): string | undefined {
  const written = { name: 'A', email: 'a@b.co', subject: 'S', message };
  const result = validate(forms.contact, written);
  return result.kind === 'valid' ? result.fields.message : undefined;
}

describe('validate, legitimate texts', () => {
  test.each(TEXTS)('keeps %s: %s', (_script, text) => {
    expect(messageOf(text)).toBe(text);
    expect(messageOf(`${text}\n${text}`)).toBe(`${text}\n${text}`);
    expect(isBlank(normalize(text))).toBe(false);
  });

  test('replaces the England flag emoji, which consists of tag characters, with a black flag', () => {
    expect(messageOf('🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}')).toBe('🏴');
  });
});
