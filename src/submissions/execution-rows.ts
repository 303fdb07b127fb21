/**
 * The row of an execution's submission. This row has no lease and no schedule of its own. The transaction that claims,
 * settles or recovers the execution also changes the row. The service never resends the submission (reference §10.7).
 */
import { type QueryCreator, type RawBuilder, sql } from 'kysely';
import type { Storage } from '../storage/database.ts';
import { prepareChange, selectRow } from '../storage/queries.ts';
import type { Schema, SubmissionReason, SubmissionRow, SubmissionStatus } from '../storage/schema.ts';
import { ifSpam, redactedColumns } from './submission-queries.ts';

/** The stored part of an execution. The id of the row is the `action_id`. */
export type ExecutionSubmission = Pick<SubmissionRow, 'form' | 'email' | 'search_text' | 'event'>;

type Inserted = ExecutionSubmission & { action_id: string; client: string };
type Ended = { action_id: string; line: string };
type Db = QueryCreator<Schema>;

/** Returns builders of the statements. `changed` and `settled` are conditions: the execution's row was changed. */
export function executionRows(storage: Storage, keepsDelivered: boolean) {
  const insert =
    (status: Pick<SubmissionRow, 'status' | 'stored_here'>) =>
    (db: Db, { action_id: id, form, client, email, search_text, event }: Inserted, changed: RawBuilder<boolean>) => {
      const attempt = { attempts: '', attempt_by: 'first', attempt_number: 1 } as const;
      const row = {
        ...{ origin: 'agent', progress: 'new', ...attempt, ...status },
        ...{ id, form, client, email, search_text, event },
      } as const;
      const { wallClock } = storage.dialect;
      const since = [wallClock.as('received_ms'), wallClock.as('status_since_ms')] as const;
      const names = Object.keys(row) as (keyof typeof row)[];
      return db
        .insertInto('submissions')
        .columns([...names, 'received_ms', 'status_since_ms'])
        .expression(selectRow(db, row).select(since).where(changed));
    };

  const end = (db: Db, of: Ended, from: SubmissionRow['status'], to: 'delivered' | 'undelivered') =>
    db
      .updateTable('submissions')
      .set((row) => ({
        ...(to === 'delivered'
          ? { status: to, reason: null }
          : {
              status: ifSpam<SubmissionStatus>('dismissed', sql.lit(to)),
              reason: ifSpam<SubmissionReason>('spam', sql.lit('execution_failed')),
            }),
        status_since_ms: storage.dialect.wallClock,
        attempts: row('attempts', '||', of.line),
        ...(to === 'delivered' && !keepsDelivered && redactedColumns(storage)),
      }))
      .where('id', '=', of.action_id)
      .where('status', '=', from);

  return {
    /** Inserts the submission with the claim, before the first byte is sent. */
    claim: insert({ status: 'sending', stored_here: 0 }),

    /** Inserts the submission into the embedded inbox. The commit also settles the execution, and is the delivery. */
    store: insert({ status: 'delivered', stored_here: 1 }),

    submit: (db: Db, of: Ended, settled: RawBuilder<boolean>) => end(db, of, 'sending', 'delivered').where(settled),

    fail: (db: Db, of: Ended, settled: RawBuilder<boolean>) => end(db, of, 'sending', 'undelivered').where(settled),

    /** Records a confirmation that came after the lease. The receipt stays as it is. */
    deliverLate: prepareChange(storage, (db, of: Ended) =>
      end(db, of, 'undelivered', 'delivered').where('origin', '=', 'agent'),
    ),

    /** Ends the submission of an execution whose process died. */
    expire: prepareChange(storage, (db, of: Ended) => end(db, of, 'sending', 'undelivered')),
  };
}
