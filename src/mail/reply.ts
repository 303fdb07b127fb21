/**
 * The mail server's reply to a failed message, as the operator sees it (reference §11.2). A reply may repeat any part of
 * the message, also in another encoding. So the stored reply has only plain words and small numbers, and an ellipsis
 * replaces all other text.
 */

/** Longest text of a reply, in code points. */
const MAXIMUM_LENGTH = 200;
/** Number of characters of a reply that are read. */
const READ_LENGTH = 2_000;
/** Minimum length of a hidden word, in characters. Shorter words can't identify a person. */
const HIDDEN_LENGTH = 3;

/** The code at the beginning of a line, and the enhanced status code (RFC 3463). */
const CODES = /^(?:\d{3}(?:[ -]|$))?(?:[245]\.\d{1,3}\.\d{1,3}(?!\S))?/gm;

/** A word in lower case, in upper case or with a capital letter, or a number below 100. A token mixes both cases. */
const WORD =
  /^["'([]{0,3}((?:\p{Lu}?[\p{Ll}\p{Lo}]{1,20}|\p{Lu}{1,20}|\d{1,2})(?:['’/-](?:\p{Lu}?\p{Ll}{1,20}|\p{Lu}{1,20}))*)?["')\].,:;!?-]*$/u;

type Sent = { address: string; replyTo?: string; subject: string; text: string };

/** Returns the text of a reply without its codes, and without addresses, links and codes of the message. */
export function shownReply(response: string, { address, replyTo = '', subject, text }: Sent): string {
  const written = `${address} ${replyTo} ${subject} ${text}`.normalize('NFKC').split(/\s/);
  const secrets = written.filter((word) => !WORD.test(word)).map((word) => word.toLowerCase());
  const isHidden = (part: string) => part.length >= HIDDEN_LENGTH && secrets.some((secret) => secret.includes(part));

  const words = wordsOf(response);
  const isAddress = (word: string, at: number) =>
    word.includes('@') || words[at + 1]?.startsWith('@') || words[at - 1]?.endsWith('@');
  const shown = words
    .map((word, at) => (WORD.test(word) && !isAddress(word, at) && !partsOf(word).some(isHidden) ? word : '…'))
    .join(' ')
    .replace(/…(?: …)+/g, '…');
  const characters = [...shown];
  return characters.length > MAXIMUM_LENGTH ? `${characters.slice(0, MAXIMUM_LENGTH - 1).join('')}…` : shown;
}

function wordsOf(response: string): string[] {
  const lines = response
    .slice(0, READ_LENGTH)
    .normalize('NFKC')
    .replace(/\p{Default_Ignorable_Code_Point}/gu, '');
  const text = lines
    .replace(CODES, '')
    .replace(/[\p{Cc}\s]/gu, ' ')
    .replace(/\\./g, '');
  return withoutQuotedLocalParts(text)
    .split(' ')
    .filter((word) => word !== '');
}

/** Empties local parts in quotation marks, which may contain blanks (RFC 5321). */
function withoutQuotedLocalParts(text: string): string {
  const parts = text.split('"');
  const isLocalPart = (at: number) => at % 2 === 1 && parts[at + 1]?.trimStart().startsWith('@');
  return parts.map((part, at) => (isLocalPart(at) ? '' : part)).join('"');
}

/** Returns a word without punctuation around it, and its parts of letters only. */
function partsOf(word: string): string[] {
  const lower = word.toLowerCase();
  const characters = [...lower];
  const isPlain = (character: string) => /[\p{L}\p{N}]/u.test(character);
  const plain = characters.slice(characters.findIndex(isPlain), characters.findLastIndex(isPlain) + 1).join('');
  return [plain, ...lower.split(/[^\p{L}]/u)];
}
