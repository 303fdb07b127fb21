/** Filters of submissions, for lists, exports and counts (reference §12.7, §13.4). */
import type { ExpressionBuilder } from 'kysely';
import { type FormName, forms } from '../../forms/catalog.ts';
import type { ReadOnly, Selects } from '../../storage/database.ts';
import type { Progress, Schema, SubmissionRow, SubmissionStatus } from '../../storage/schema.ts';
import { containsWord, type SearchWord } from './search.ts';

export const statuses = ['sending', 'delivered', 'waiting', 'undelivered', 'dismissed'] as const;
export const formNames = Object.keys(forms) as FormName[];
export const origins = ['browser', 'agent'] as const;
export const progresses = ['new', 'answered', 'won', 'lost', 'spam'] as const satisfies readonly Progress[];

export type SubmissionFilter = {
  status?: SubmissionStatus | undefined;
  form?: FormName | undefined;
  origin?: SubmissionRow['origin'] | undefined;
  progress?: Progress | undefined;
  /** Name of the client that executed. */
  client?: string | undefined;
  /** True to leave out newsletter submissions. */
  onlyLeads?: boolean | undefined;
  /** True to leave out submissions that are marked as spam. */
  withoutSpam?: boolean | undefined;
  /** Start of the time of receipt, inclusive. */
  since?: Date | undefined;
  /** End of the time of receipt, exclusive. */
  until?: Date | undefined;
  /** The whole address. */
  email?: string | undefined;
  /** Words of `parseSearch`. All of them must occur. */
  search?: readonly SearchWord[] | undefined;
};

/** Returns a query for the rows of a filter, without columns. */
export function matching(reader: ReadOnly, db: Selects, filter: SubmissionFilter) {
  const { constant } = reader.dialect;
  const { status, origin, since, until, search = [] } = filter;
  let query = db.selectFrom('submissions');
  for (const column of ['form', 'email', 'client'] as const) {
    const value = filter[column];
    if (value !== undefined) query = query.where(column, '=', value);
  }
  // The conditions in constants are those of partial indexes.
  if (status !== undefined) query = query.where('status', '=', constant(status));
  if (status === 'waiting' || status === 'undelivered') query = query.where((row) => isOpen(reader, row));
  if (filter.progress !== undefined) query = query.where('progress', '=', constant(filter.progress));
  if (filter.onlyLeads) query = query.where('form', '<>', constant('newsletter'));
  if (filter.withoutSpam) query = query.where('progress', '<>', constant('spam'));
  // The index has the client and not the origin. A browser's row has no client.
  if (origin !== undefined) query = query.where('client', origin === 'agent' ? 'is not' : 'is', null);
  if (since !== undefined) query = query.where('received_ms', '>=', since.getTime());
  if (until !== undefined) query = query.where('received_ms', '<', until.getTime());
  // Few rows contain the longest word, and a database compares the next words only in these rows.
  const longestFirst = search.toSorted((one, other) => other.text.length - one.text.length);
  for (const word of longestFirst) query = query.where((row) => containsWord(reader, row, word));
  return query;
}

/** Returns the exact condition of the index `submissions_open`. SQLite does not derive this condition from a status. */
export function isOpen({ dialect }: ReadOnly, row: ExpressionBuilder<Schema, 'submissions'>) {
  return row('status', 'in', [dialect.constant('waiting'), dialect.constant('undelivered')]);
}
