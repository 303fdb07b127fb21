/** What an operator looks for, and how it is understood (beyond §7, "Leads"). */
import { normalize, parseEmail } from '../forms/fields.ts';
import type { Fields } from '../forms/validate.ts';
import { comparedOf } from './submission.ts';

export type Search =
  | { kind: 'reference'; id: string }
  | { kind: 'telephone'; digits: string }
  | { kind: 'address'; begins: string }
  /** The beginning of an address, or words that are all there. */
  | { kind: 'words'; begins: string; words: readonly string[] };

const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
const TELEPHONE = /^[\d\s+()\-./]+$/;

/** Takes what was typed; undefined where that is blank, or can't be found. `%` and `_` are letters like others. */
export function parseSearch(typed: string): Search | undefined {
  const text = normalize(typed);
  // No text that is kept has this one in it, and PostgreSQL knows no such text.
  if (text === '' || text.includes('\0')) return undefined;
  if (UUID.test(text)) return { kind: 'reference', id: text.toLowerCase() };
  if (TELEPHONE.test(text) && /\d/.test(text))
    return { kind: 'telephone', digits: comparedOf(text.replace(/\D/g, '')) };
  if (text.includes('@')) return { kind: 'address', begins: parseEmail(text) ?? lower(text) };
  return { kind: 'words', begins: lower(text), words: lower(text).split(/\s+/) };
}

/** Whether an address begins as it was typed, or each of the words is in one of the fields. */
export function isFound({ begins, words }: Search & { kind: 'words' }, fields: Fields): boolean {
  if (fields.email?.startsWith(begins)) return true;
  const values = lower(Object.values(fields).join('\n'));
  return words.every((word) => values.includes(word));
}

function lower(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
