import { domainToUnicode } from 'node:url';

/** Letters that no language mixes with Latin letters. The scripts of Japanese, Korean and Chinese are exempt. */
const NEVER_BESIDE_LATIN =
  /(?![\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Bopomofo}])\p{L}/u;

/** Returns true if a label of the domain mixes look-alike scripts (Unicode TR 39, highly restrictive). */
export function isMixedScript(email: string | undefined): boolean {
  const domain = email?.slice(email.lastIndexOf('@') + 1) ?? '';
  const labels = domainToUnicode(domain).split('.');
  return labels.some(
    (label) =>
      (/\p{Script=Latin}/u.test(label) && NEVER_BESIDE_LATIN.test(label)) ||
      (/\p{Script=Cyrillic}/u.test(label) && /\p{Script=Greek}/u.test(label)),
  );
}
