/** Searches by words (reference §12.8). A row matches if its folded text contains every folded word. */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { normalize } from '../../forms/fields.ts';
import type { ReadOnly } from '../../storage/database.ts';
import type { Schema } from '../../storage/schema.ts';
import { BEFORE_DIGITS, digitsOf, fold } from '../submission.ts';

const MAXIMUM_CODE_POINTS = 200;
const MAXIMUM_WORDS = 20;

const TELEPHONE_WORD = /^[\d+()\-./]+$/;

/** Returns the words of a query, or undefined if the query has no words. */
export function parseSearch(typed: string): string[] | undefined {
  const text = normalize([...typed].slice(0, MAXIMUM_CODE_POINTS).join(''));
  // No stored text has control characters, and PostgreSQL refuses some of them.
  const words = fold(text)
    .split(/[\s\p{Cc}]+/u)
    .filter((word) => word !== '')
    .slice(0, MAXIMUM_WORDS);
  return words.length === 0 ? undefined : words;
}

/** Returns the condition that a row contains a word. */
export function containsWord(
  { dialect }: Pick<ReadOnly, 'dialect'>,
  row: ExpressionBuilder<Schema, 'submissions'>,
  word: string,
): Expression<SqlBool> {
  const contains = (...texts: string[]) => {
    const escaped = texts.map((text) => text.replace(/[\\%_]/g, '\\$&'));
    return dialect.matches('search_text', `%${escaped.join('%')}%`);
  };
  const digits = TELEPHONE_WORD.test(word) ? digitsOf(word) : '';
  if (digits.length < 3) return contains(word);
  return row.or([contains(word), contains(BEFORE_DIGITS, digits)]);
}
