/** Characters that a stranger can put into a text and that must not reach a terminal. */

export const hostileCharacters = {
  'a line break': '\n',
  'a carriage return': '\r',
  'an escape': '\u001B',
  'a bell': '\u0007',
  'a backspace': '\b',
  'a deletion': '\u007F',
  'the C1 escape of a sequence': '\u009B',
  'the C1 escape of a command': '\u009D',
  'a next line': '\u0085',
  'a line separator': '\u2028',
  'a paragraph separator': '\u2029',
  'an override of direction': '\u202E',
  'an embedding': '\u202B',
  'an isolate': '\u2066',
  'an end of isolates': '\u2069',
  'a left-to-right mark': '\u200E',
  'a right-to-left mark': '\u200F',
  'an Arabic letter mark': '\u061C',
  'a blank without width': '\u200B',
  'a joiner between Latin letters': '\u200D',
  'a non-joiner between Latin letters': '\u200C',
  'a word joiner': '\u2060',
  'a byte order mark': '\uFEFF',
  'a soft hyphen': '\u00AD',
  'a filler': '\u3164',
  'a variation selector behind a Latin letter': '\uFE00',
  'an annotation': '\uFFF9',
  'a tag': '\u{E0041}',
} as const;

/** A line that imitates output of the program. */
export const forgedLine = 'Valid. FORGED';
/** All hostile characters and the forged line, between letters. */
export const hostile = `x\n${forgedLine} a${Object.values(hostileCharacters).join('b')}c`;

/** Real names, which must stay unchanged. */
export const legitimateNames = [
  'محمد‌رضا',
  'क्‍ष',
  'അവന്‍',
  'שָׁלוֹם',
  '👩‍🎨 Jo',
  '👨‍👩‍👧‍👦',
  '🏳️‍🌈 1️⃣ ❤️',
  '葛󠄀城市',
  'Zoë Nguyễn',
];

/** Returns the hostile characters in an output. Line breaks are allowed, because they end the program's own lines. */
export function hostileIn(output: string): string[] {
  const found = Object.entries(hostileCharacters)
    .filter(([, character]) => character !== '\n' && output.includes(character))
    .map(([name]) => name);
  const isForged = output.split('\n').some((line) => line.startsWith(forgedLine));
  return isForged ? [...found, 'a line of somebody else'] : found;
}
