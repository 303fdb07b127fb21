/** Searches by words (reference §12.8). A row matches if its folded text contains every folded word. */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import { normalize } from '../../forms/fields.ts';
import type { ReadOnly } from '../../storage/database.ts';
import type { Schema } from '../../storage/schema.ts';
import { BEFORE_DIGITS, digitsOf, fold } from '../submission.ts';

const MAXIMUM_CODE_POINTS = 200;
const MAXIMUM_WORDS = 20;

const TELEPHONE_WORD = /^[\d+()\-./]+$/;

/** A folded word, and the names of the clients whose label contains the word. */
export type SearchWord = { text: string; clients: readonly string[] };

/** A client and the label that people see, if it has one. */
type Labelled = { name: string; label?: string | undefined };

/** Returns the words of a query, or undefined if the query has no words. */
export function parseSearch(typed: string, clients: readonly Labelled[] = []): SearchWord[] | undefined {
  const text = normalize([...typed].slice(0, MAXIMUM_CODE_POINTS).join(''));
  // No stored text has control characters, and PostgreSQL refuses some of them.
  const words = fold(text)
    .split(/[\s\p{Cc}]+/u)
    .filter((word) => word !== '')
    .slice(0, MAXIMUM_WORDS);
  if (words.length === 0) return undefined;
  const labels = clients.map(({ name, label }) => ({ name, label: fold(label ?? '') }));
  return words.map((word) => {
    const labelled = labels.filter(({ label }) => label.includes(word));
    return { text: word, clients: labelled.map(({ name }) => name) };
  });
}

/** Returns the condition that a row contains a word. */
export function containsWord(
  { dialect }: Pick<ReadOnly, 'dialect'>,
  row: ExpressionBuilder<Schema, 'submissions'>,
  { text: word, clients }: SearchWord,
): Expression<SqlBool> {
  const contains = (...texts: string[]) => {
    const escaped = texts.map((text) => text.replace(/[\\%_]/g, '\\$&'));
    return dialect.matches('search_text', `%${escaped.join('%')}%`);
  };
  return row.or([
    isNumberWithSigns(word) ? containsNumber(word, row, contains) : contains(word),
    ...(clients.length === 0 ? [] : [row('client', 'in', [...clients])]),
  ]);
}

/** Returns true for a word with signs whose digits can be within a telephone number (reference §12.8). */
function isNumberWithSigns(word: string): boolean {
  return TELEPHONE_WORD.test(word) && /\D/.test(word) && digitsOf(word).length >= 3;
}

/** Returns the condition that a row contains a number as typed, or its digits within the telephone number. */
function containsNumber(
  word: string,
  row: ExpressionBuilder<Schema, 'submissions'>,
  contains: (...texts: string[]) => Expression<SqlBool>,
): Expression<SqlBool> {
  const [group = ''] = (word.match(/\d+/g) ?? []).sort((one, other) => other.length - one.length);
  // Both alternatives contain each group of digits. The comparison with one group excludes most rows.
  return row.and([contains(group), row.or([contains(word), contains(BEFORE_DIGITS, digitsOf(word))])]);
}
