/** Fills placeholders, isolates values of another writing direction, and escapes text. */

/** Replaces `{name}` with its value. An unknown name stays. Placeholders in values stay as well. */
export function fillIn(text: string, values: Readonly<Record<string, string | number>>): string {
  return text.replace(/\{(\w+)\}/g, (whole, name: string) =>
    Object.hasOwn(values, name) ? String(values[name]) : whole,
  );
}

const mapEntries = <V>(of: object, change: (value: V) => V) =>
  Object.fromEntries(Object.entries(of).map(([name, value]) => [name, change(value)]));

/** Fills each text of an object, but not the texts of objects in it. */
export function fillInAll<W extends object>(words: W, values: Record<string, string>): W {
  return mapEntries<unknown>(words, (text) => (typeof text === 'string' ? fillIn(text, values) : text)) as W;
}

/**
 * Fills each text of an object for a page in the language `lang`. A value with the opposite writing direction is
 * isolated.
 */
export function fillInIsolated<W extends object>(words: W, values: Record<string, string>, lang: string): W {
  return fillInAll(
    words,
    mapEntries<string>(values, (value) => isolated(value, lang)),
  );
}

/** Returns the value of the attribute `dir` for a language tag. */
export function directionOf(lang: string): 'ltr' | 'rtl' {
  return new Intl.Locale(lang).getTextInfo().direction === 'rtl' ? 'rtl' : 'ltr';
}

/** Returns the attributes of a part in `lang`, or nothing if the page around it is in the same language. */
export function languageMark(lang: string, around: string): string {
  return lang === around ? '' : ` lang="${lang}" dir="${directionOf(lang)}"`;
}

/** Matches letters from right to left by their Unicode ranges: Hebrew, Arabic and others. */
const RIGHT_TO_LEFT = /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
/**
 * Matches letters from left to right, and digits. Between letters from right to left, `+1 555` would be reordered
 * without an isolate.
 */
const LEFT_TO_RIGHT =
  /(?![\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}])[\p{L}\p{N}]/u;

/** Returns true if a text contains the opposite writing direction of the language around it. */
export function hasOtherDirection(text: string, lang: string): boolean {
  return (directionOf(lang) === 'rtl' ? LEFT_TO_RIGHT : RIGHT_TO_LEFT).test(text);
}

/** Puts a plain text of the opposite writing direction between isolates (UAX #9). */
export function isolated(text: string, lang: string): string {
  return hasOtherDirection(text, lang) ? `\u2068${text}\u2069` : text;
}

/** Returns the `mailto:` or `tel:` address of a contact (reference §20.4). */
export function contactHref(contact: string): string {
  if (!contact.includes('@')) return `tel:${contact.replace(/[^\d+]/g, '')}`;
  return `mailto:${encodeURI(contact).replace(/[?&#]/g, encodeURIComponent)}`;
}

const htmlEntities: Record<string, string> = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** Escapes a text for elements and attributes. */
export function escapeHtml(text: string): string {
  return text.replace(/[&<>"']/g, (character) => htmlEntities[character] ?? character);
}

/** Escapes all characters that would start markup inside a line or a table. */
export function escapeMarkdown(text: string): string {
  return text.replace(/[\\`*_[\]<>|&~]/g, '\\$&');
}
