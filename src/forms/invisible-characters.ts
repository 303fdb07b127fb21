/**
 * Removes characters that a person cannot see, and decides whether a text shows anything (reference §2.5, §2.6).
 * `site/assets/form.js` repeats INVISIBLES, because it must not refuse an address that the server accepts.
 * `site/assets/fill.js` repeats HIDDEN and SURPLUS, because a person checks what a link filled in.
 */

/**
 * Characters that can make a person confirm a text that differs from what they see. A variation selector stays behind
 * a character that it changes, so the first group matches this pair and `$1` puts the pair back. The group matches up
 * to 1,000 pairs at once, because to match one pair at a time takes ten times as long for 100,000 pairs.
 */
const HIDDEN =
  /((?:[^\p{Mn}\p{Me}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}][\u180B-\u180D\u180F\uFE00-\uFE0F]|\p{Script=Han}[\u{E0100}-\u{E01EF}]){1,1000})|[\u200B\u202A-\u202E\u2060-\u206F\uFEFF\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}\p{Variation_Selector}]+/gu;

/**
 * Characters that draw nothing: all that Unicode calls default-ignorable, then by number the blank Braille cell,
 * annotation marks and the object replacement character, Egyptian format controls and blanks, the Khitan filler and
 * the null notehead. Most text has none of these characters, and the test is quick.
 */
const INVISIBLE =
  /[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]/u;

/** Matches runs of the characters of INVISIBLE, for the fields that allow no invisible characters. */
const INVISIBLES =
  /[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]+/gu;

/**
 * Matches the second and further invisible characters of a run, which could carry a hidden text (reference §2.6 rule
 * 4). Behind a visible character one invisible character stays. One more stays behind blanks, for a direction mark
 * before a telephone number. The only pair that stays is U+FE0F and U+200D between two emoji.
 */
const SURPLUS =
  /[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}](?:(?<=[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}].)(?<!\p{Extended_Pictographic}\uFE0F\u200D(?=\p{Extended_Pictographic}))|(?<=(?:^|[\s\x85])[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]+[\s\x85]+.))[\p{Default_Ignorable_Code_Point}\u2800\uFFF9-\uFFFC\u{13430}-\u{1343F}\u{13441}\u{13442}\u{16FE4}\u{1D159}]*/gu;

/** A character that a person can see. The last five exceptions are blank, but Unicode calls them letters or symbols. */
const VISIBLE = /[^\p{M}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800\uFFFC\u{13441}\u{13442}\u{1D159}]/u;

/** Removes every invisible character. */
export function withoutInvisible(text: string): string {
  return text.replace(INVISIBLES, '');
}

/** Removes characters that could hide a text or change how it reads. Invisible characters that scripts need stay. */
export function withoutHidden(text: string): string {
  return INVISIBLE.test(text) ? text.replace(HIDDEN, '$1').replace(SURPLUS, '') : text;
}

/** Returns true if a normalized value shows nothing. Such a value counts as missing. */
export function isBlank(normalized: string): boolean {
  return !VISIBLE.test(normalized);
}
