/** Whether an address looks like another's: a warning for whoever reads it. */
import { domainToUnicode } from 'node:url';

const LATIN = /\p{Script=Latin}/u;

/** Letters that no word has beside Latin ones: Japanese, Korean and Chinese are written with both. */
const NEVER_BESIDE_LATIN =
  /(?![\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}])\p{L}/u;

const CYRILLIC = /\p{Script=Cyrillic}/u;
const GREEK = /\p{Script=Greek}/u;

/** A domain label of look-alike scripts may look like another's (Unicode TR 39, highly restrictive). */
export function isMixedScript(email: string | undefined): boolean {
  const domain = email?.slice(email.lastIndexOf('@') + 1) ?? '';
  const labels = domainToUnicode(domain).split('.');
  return labels.some(
    (label) =>
      (LATIN.test(label) && NEVER_BESIDE_LATIN.test(label)) ||
      (CYRILLIC.test(label) && GREEK.test(label)),
  );
}
