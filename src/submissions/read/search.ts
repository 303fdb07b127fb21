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
  // No stored text has control characters, and PostgreSQL refuses some of them.
  const words = fold(normalize([...typed].slice(0, MAXIMUM_CODE_POINTS).join('')))
    .split(/[\s\p{Cc}]/u)
    .filter((word) => word !== '')
    .slice(0, MAXIMUM_WORDS);
  if (words.length === 0) return undefined;
  const labels = clients.map(({ name, label = '' }) => ({ name, label: fold(label) }));
  return words.map((text) => ({
    text,
    clients: labels.filter(({ label }) => label.includes(text)).map(({ name }) => name),
  }));
}

/** Returns the condition that a row contains a word. */
export function containsWord(
  { dialect }: Pick<ReadOnly, 'dialect'>,
  row: ExpressionBuilder<Schema, 'submissions'>,
  { text: word, clients }: SearchWord,
): Expression<SqlBool> {
  const contains = (...texts: string[]) => dialect.contains('search_text', texts);
  // The digits of a number are part of the text, so that the first condition finds a word of digits there.
  const digits = TELEPHONE_WORD.test(word) && /\D/.test(word) ? digitsOf(word) : '';
  return row.or([
    contains(word),
    ...(digits.length < 3 ? [] : [contains(BEFORE_DIGITS, digits)]),
    // No client has an empty name, and a list of values must not be empty.
    row('client', 'in', ['', ...clients]),
  ]);
}
