/**
 * The kinds of field and their rules: normalization and what each kind refuses (contract §4).
 */
import { domainToASCII } from 'node:url';
import type { FieldKind } from './catalog.ts';

/**
 * Characters that can make a person confirm something other than what they see. First, in a group of
 * its own, the one variation selector that stays behind what it changes; the last takes all others. Of
 * those that stay many are found at once: a hundred thousand would take ten times as long one by one.
 */
const HIDDEN =
  /((?:[^\p{Mn}\p{Me}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\u2800\u{13441}\u{13442}\u{1D159}][\u180B-\u180D\u180F\uFE00-\uFE0F]|\p{Script=Han}[\u{E0100}-\u{E01EF}]){1,1000})|[\u200B\u202A-\u202E\u2060-\u206F\uFEFF\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}\p{Variation_Selector}]+/gu;

/** Looked for first: most text in any script has none of these, and searching for one is quick. */
const HIDDEN_ONE =
  /[\u200B\u202A-\u202E\u2060-\u206F\uFEFF\uFFF0-\uFFFB\u{E0000}-\u{E0FFF}\p{Variation_Selector}]/u;

/** In this order: the first is one break. */
const LINE_BREAKS = ['\r\n', '\r', '\u2028', '\u2029'];

/** C0 and C1 controls but for tab and line feed, noncharacters, lone surrogates. */
const FORBIDDEN = /[\p{Noncharacter_Code_Point}\p{Surrogate}]|(?![\t\n])\p{Cc}/u;

const TAB_OR_LINE_FEED = /[\t\n]/;

/** So many marks on one letter cover the lines around it; joiners between them change nothing. */
const NINE_MARKS = /(?:\p{M}(?:(?!\p{M})\p{Default_Ignorable_Code_Point})*){9}/u;

/** Something a person can see. Of what Unicode calls letters and symbols, the last four are blank. */
const VISIBLE =
  /[^\p{M}\p{White_Space}\p{Default_Ignorable_Code_Point}\p{Cf}\u2800\u{13441}\u{13442}\u{1D159}]/u;

/** What `<input type="email">` takes as a local part, save dots that are first, last or doubled. */
const LOCAL_PART = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const LOCAL_PART_MAXIMUM = 64;

const ASCII_BESIDES_HOST_NAME = /(?![A-Za-z0-9.-])\p{ASCII}/u;

const DOMAIN_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;

const PLAIN_ASCII = /^[ -~]*$/;

/** Text in which no rule but that about tabs and line feeds finds anything: by far the most. */
const PLAIN_TEXT = /^[\t\n -~]*$/;

/**
 * Takes what a caller wrote; returns it without hidden characters, with LF breaks, trimmed. What is
 * not well-formed is returned as it is: removing something could put halves of a pair together.
 */
export function normalize(written: string): string {
  if (PLAIN_TEXT.test(written)) return written.trim();
  if (!written.isWellFormed()) return written;
  const shown = HIDDEN_ONE.test(written) ? written.replace(HIDDEN, '$1') : written;
  // Trimmed first: a quarter of a million breaks at an end cost nothing.
  return withLineFeeds(shown.trim());
}

/** By `split`: where a hundred thousand are found, an expression takes five times as long. */
function withLineFeeds(text: string): string {
  return LINE_BREAKS.reduce(
    (broken, lineBreak) =>
      broken.includes(lineBreak) ? broken.split(lineBreak).join('\n') : broken,
    text,
  );
}

/** Whether nothing in a normalized value is visible: such a value counts as not given. */
export function isBlank(normalized: string): boolean {
  return !VISIBLE.test(normalized);
}

/** The length of a value in Unicode code points. */
export function lengthOf(value: string): number {
  if (PLAIN_TEXT.test(value)) return value.length;
  let length = 0;
  for (const _ of value) length += 1;
  return length;
}

/** Whether a value has more code points than that; they are not counted where the answer is known. */
export function isLongerThan(maximum: number, value: string): boolean {
  // None takes more than two units.
  return value.length > 2 * maximum || (value.length > maximum && lengthOf(value) > maximum);
}

/** Whether a normalized value holds a character that its kind of field refuses. */
export function hasForbiddenCharacter(kind: FieldKind, normalized: string): boolean {
  if (!PLAIN_TEXT.test(normalized) && FORBIDDEN.test(normalized)) return true;
  return kind !== 'text' && TAB_OR_LINE_FEED.test(normalized);
}

/** Whether more than eight combining marks are piled up. For values within their bounds: it is slow. */
export function hasPiledMarks(normalized: string): boolean {
  return !PLAIN_TEXT.test(normalized) && NINE_MARKS.test(normalized);
}

/**
 * Takes a normalized e-mail address; returns it lower-cased with its domain in ASCII, or undefined
 * where it is no address: an ASCII dot-atom of at most 64, `@`, a domain with a dot (contract §4).
 * Its length in all is the caller's to bound.
 */
export function parseEmail(normalized: string): string | undefined {
  const at = normalized.lastIndexOf('@');
  if (at < 1) return undefined;
  // Looked at before it is lower-cased, which makes ASCII of some letters that are none.
  const local = normalized.slice(0, at);
  if (local.length > LOCAL_PART_MAXIMUM || !LOCAL_PART.test(local)) return undefined;
  const domain = toAsciiDomain(normalized.slice(at + 1));
  return domain === undefined ? undefined : `${local.toLowerCase()}@${domain}`;
}

function toAsciiDomain(written: string): string | undefined {
  // domainToASCII also decodes %2E and rewrites 0x7f.1, so it sees only what is not ASCII already.
  if (ASCII_BESIDES_HOST_NAME.test(written)) return undefined;
  const domain = PLAIN_ASCII.test(written) ? written.toLowerCase() : domainToASCII(written);
  const labels = domain.split('.');
  if (domain.length > 253 || labels.length < 2) return undefined;
  return labels.every((label) => DOMAIN_LABEL.test(label)) ? domain : undefined;
}
