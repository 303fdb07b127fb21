/** The kinds of field: how a value is normalized, and which characters each kind refuses (reference §2). */
import { domainToASCII } from 'node:url';
import { bounds } from './bounds.ts';
import type { FieldKind } from './catalog.ts';
import { withoutHidden, withoutInvisible } from './invisible-characters.ts';

/** Line breaks of every kind of field. CRLF comes first, because it is one break. */
const LINE_BREAKS = ['\r\n', '\r', '\u2028', '\u2029'];

/** U+000B and U+000C are soft breaks of word processors (reference §2.4 rule 6). */
const TEXT_BREAKS = [...LINE_BREAKS, '\v', '\f', '\x85'];

/** C0 and C1 controls except tab and line feed, noncharacters, lone surrogates. */
const FORBIDDEN = /[\p{Noncharacter_Code_Point}\p{Surrogate}]|(?![\t\n])\p{Cc}/u;

/**
 * Matches nine marks on one letter, which would cover the lines around the letter. Joiners between the marks change
 * nothing. Spacing marks (Mc) do not count, because they take a place of their own (reference §2.6 rule 3).
 */
const NINE_MARKS = /(?:[\p{Mn}\p{Me}](?:(?![\p{Mn}\p{Me}])\p{Default_Ignorable_Code_Point})*){9}/u;

/** Local part that `<input type="email">` accepts, without dots that are first, last or doubled. */
const LOCAL_PART = /^[\w!#$%&'*+/=?^`{|}~-]+(?:\.[\w!#$%&'*+/=?^`{|}~-]+)*$/;
const LOCAL_PART_MAXIMUM = 64;

const ASCII_BESIDES_HOST_NAME = /(?![A-Za-z0-9.-])\p{ASCII}/u;
const DOMAIN_LABEL = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?$/;
const PLAIN_ASCII = /^[ -~]*$/;

/** Text without invisible or forbidden characters. Most values match, and this test is quick. */
const PLAIN_TEXT = /^[\t\n -~]*$/;

/** Limit for NFKC, in UTF-16 units. NFKC composes at most four code points to one, so a longer value stays too long. */
const FOLDED_UNITS = 4 * 2 * bounds.valueLength;

/**
 * Returns a value without hidden characters, with LF breaks, trimmed (reference §2.4). Text that is not well-formed is
 * returned unchanged, because a removal could join the halves of two surrogate pairs.
 */
export function normalize(written: string, kind: FieldKind = 'line'): string {
  if (PLAIN_TEXT.test(written)) return withBlanks(written.trim(), kind);
  if (!written.isWellFormed()) return written;
  // An address, a telephone number and a code need no invisible and no full-width character.
  if (kind === 'email' || kind === 'phone' || kind === 'code') return fold(written);
  // The text is trimmed before breaks are replaced, so that 250,000 breaks at an end cost nothing.
  const breaks = kind === 'text' ? TEXT_BREAKS : LINE_BREAKS;
  return withBlanks(withLineFeeds(withoutHidden(written).trim(), breaks).trim(), kind);
}

/** Applies NFKC to the visible characters (reference §2.5). */
function fold(written: string): string {
  const visible = withoutInvisible(written).trim();
  const folded = visible.length > FOLDED_UNITS ? visible : visible.normalize('NFKC');
  return withBlanks(withLineFeeds(folded, LINE_BREAKS).trim(), 'line');
}

/** Replaces breaks by LF. Uses `split`, because a regular expression takes five times as long for 100,000 breaks. */
function withLineFeeds(text: string, breaks: readonly string[]): string {
  return breaks.reduce(
    (broken, lineBreak) => (broken.includes(lineBreak) ? broken.split(lineBreak).join('\n') : broken),
    text,
  );
}

/** Turns tabs into blanks, except in text of several lines (reference §2.4 rule 6). */
function withBlanks(text: string, kind: FieldKind): string {
  return kind === 'text' ? text : text.replaceAll('\t', ' ');
}

/** Returns the length of a value in Unicode code points. */
export function lengthOf(value: string): number {
  if (PLAIN_TEXT.test(value)) return value.length;
  let length = 0;
  for (const _ of value) length += 1;
  return length;
}

/** Returns true if a value has more code points than `maximum`. Counts them only if the UTF-16 units do not decide. */
export function isLongerThan(maximum: number, value: string): boolean {
  return value.length > 2 * maximum || (value.length > maximum && lengthOf(value) > maximum);
}

/** Returns true if a normalized value has a character that its kind of field refuses. */
export function hasForbiddenCharacter(kind: FieldKind, normalized: string): boolean {
  if (!PLAIN_TEXT.test(normalized) && FORBIDDEN.test(normalized)) return true;
  return kind !== 'text' && normalized.includes('\n');
}

/** Returns true if a letter has more than eight combining marks. The test is slow, so the length is checked before. */
export function hasPiledMarks(normalized: string): boolean {
  return !PLAIN_TEXT.test(normalized) && NINE_MARKS.test(normalized);
}

/**
 * Returns a normalized e-mail address in lower case with its domain in ASCII. Returns undefined unless it is an ASCII
 * dot-atom of at most 64 characters, `@`, and a domain with a dot (reference §2.7). The caller checks the total length.
 */
export function parseEmail(normalized: string): string | undefined {
  const at = normalized.lastIndexOf('@');
  if (at < 1) return undefined;
  // The local part is checked before lower-casing, which turns some other letters into ASCII.
  const local = normalized.slice(0, at);
  if (local.length > LOCAL_PART_MAXIMUM || !LOCAL_PART.test(local)) return undefined;
  const domain = toAsciiDomain(normalized.slice(at + 1));
  return domain === undefined ? undefined : `${local.toLowerCase()}@${domain}`;
}

function toAsciiDomain(written: string): string | undefined {
  // domainToASCII also decodes %2E and rewrites 0x7f.1, so a domain in ASCII bypasses domainToASCII.
  if (ASCII_BESIDES_HOST_NAME.test(written)) return undefined;
  const domain = PLAIN_ASCII.test(written) ? written.toLowerCase() : domainToASCII(written);
  const labels = domain.split('.');
  if (domain.length > 253 || labels.length < 2) return undefined;
  return labels.every((label) => DOMAIN_LABEL.test(label)) ? domain : undefined;
}

/** Returns an address that its owner recognizes and nobody else can read. */
export function maskedAddress(email: string): string {
  const [local = '', domain = ''] = email.split('@');
  const end = domain.split('.').at(-1) ?? '';
  return `${local.slice(0, 1)}•••@${domain.slice(0, 1)}•••.${end}`;
}
