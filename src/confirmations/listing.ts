/** What agents had people asked on a page of ours (beyond §4), for the operator: nothing that was typed. */

import type { ConfirmationRow } from '../storage/confirmation-schema.ts';
import type { Storage } from '../storage/database.ts';
import type { ExecutionRow } from '../storage/schema.ts';

export type AskedQuestion = Pick<
  ConfirmationRow,
  'id' | 'client' | 'action' | 'via' | 'destination' | 'created_at' | 'expires_at'
> & {
  /** Null where its execution is gone. */
  status: ExecutionRow['status'] | null;
  settled_at: string | null;
};

/** A place in the order of `created_at` and `id`. */
export type QuestionPlace = Pick<ConfirmationRow, 'created_at' | 'id'>;

/** Up to `limit`, the latest first. Throws `StorageUnavailable`. */
export function latestQuestions(
  storage: Storage,
  limit: number,
  before?: QuestionPlace,
): Promise<AskedQuestion[]> {
  return storage.read((db) => {
    let latest = db
      .selectFrom('confirmations')
      .select(['id', 'client', 'action', 'via', 'destination', 'created_at', 'expires_at'])
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(storage.dialect.constant(limit));
    if (before !== undefined) {
      latest = latest.where((row) =>
        row(row.refTuple('created_at', 'id'), '<', row.tuple(before.created_at, before.id)),
      );
    }
    return db
      .selectFrom(latest.as('asked'))
      .leftJoin('executions', 'executions.action_id', 'asked.id')
      .selectAll('asked')
      .select(['executions.status', 'executions.settled_at'])
      .orderBy('asked.created_at', 'desc')
      .orderBy('asked.id', 'desc');
  });
}
