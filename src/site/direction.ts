/** Which way text goes: of a language, and of a name or number that stands inside another's sentence. */

/** Takes a language tag; returns what `dir` says of it. */
export function directionOf(lang: string): 'ltr' | 'rtl' {
  return new Intl.Locale(lang).getTextInfo().direction === 'rtl' ? 'rtl' : 'ltr';
}

/** Takes the language of a part and of the page around it; returns the attributes that mark a part in another one. */
export function languageMark(lang: string, around: string): string {
  return lang === around ? '' : ` lang="${lang}" dir="${directionOf(lang)}"`;
}

/** Hebrew, Arabic and the other scripts that Unicode keeps for letters from right to left. */
const RIGHT_TO_LEFT =
  /[\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}]/u;
/** A number goes from left to right, and without an isolate `+1 555` turns round between letters that do not. */
const LEFT_TO_RIGHT =
  /(?![\u0590-\u08FF\uFB1D-\uFDFF\uFE70-\uFEFC\u{10800}-\u{10FFF}\u{1E800}-\u{1EFFF}])[\p{L}\p{N}]/u;

/** Whether anything in a text goes another way than the language around it. */
export function goesAnotherWay(text: string, lang: string): boolean {
  return (directionOf(lang) === 'rtl' ? LEFT_TO_RIGHT : RIGHT_TO_LEFT).test(text);
}

/** Takes a text for a sentence of that language, without markup; where it goes another way, between isolates (UAX #9). */
export function isolated(text: string, lang: string): string {
  return goesAnotherWay(text, lang) ? `\u2068${text}\u2069` : text;
}
