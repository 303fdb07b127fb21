/** Whether a notice of a submission is still to be sent: until then it needs the content (beyond §1, "Retention"). */
import type { Expression, ExpressionBuilder, SqlBool } from 'kysely';
import type { Schema } from '../storage/schema.ts';

/** A condition on a row of `submissions`. */
export function noticeIsOpen(row: ExpressionBuilder<Schema, 'submissions'>): Expression<SqlBool> {
  return row.exists(
    row
      .selectFrom('messages')
      .select('key')
      .where('kind', '=', 'notice')
      .whereRef('key', '=', 'submissions.id')
      .where('status', 'in', ['new', 'pending']),
  );
}
