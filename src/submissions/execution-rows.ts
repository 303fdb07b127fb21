/**
 * The row of an execution's submission: it has no lease and no schedule of its own. What claims, settles or
 * recovers the execution changes it in the same transaction, and nobody sends it again (beyond §1).
 */
import type { QueryCreator, RawBuilder } from 'kysely';
import type { Storage } from '../storage/database.ts';
import { prepareChange, prepareRead, selectRow } from '../storage/prepare-query.ts';
import type { Schema, SubmissionRow } from '../storage/schema.ts';
import { withoutContent } from './content.ts';

/** What is kept of it: its id is the `action_id`. */
export type ExecutionSubmission = Pick<SubmissionRow, 'form' | 'email' | 'telephone' | 'event'>;

type Inserted = ExecutionSubmission & { action_id: string };

/** The columns that are not null. */
const OF_AN_EXECUTION = {
  origin: 'agent',
  attempts: '',
  attempt_by: 'first',
  attempt_number: 1,
} as const;

/** Builds what the statements of an execution do to its submission; `changed` is true where they did change it. */
export function executionRows(storage: Storage, keepsDelivered: boolean) {
  const insert = (
    db: QueryCreator<Schema>,
    { action_id: id, form, email, telephone, event }: Inserted,
    status: { status: 'sending' | 'delivered'; stored_here: 0 | 1 },
    changed: RawBuilder<boolean>,
  ) => {
    const row = { ...OF_AN_EXECUTION, id, form, email, telephone, event, ...status };
    const { wallClock } = storage.dialect;
    const since = [wallClock.as('received_ms'), wallClock.as('status_since_ms')] as const;
    const names = Object.keys(row) as (keyof typeof row)[];
    return db
      .insertInto('submissions')
      .columns([...names, 'received_ms', 'status_since_ms'])
      .expression(selectRow(db, row).select(since).where(changed));
  };

  const end = (
    db: QueryCreator<Schema>,
    of: { action_id: string; line: string },
    status: Pick<SubmissionRow, 'status' | 'reason'>,
  ) =>
    db
      .updateTable('submissions')
      .set((row) => ({
        ...status,
        status_since_ms: storage.dialect.wallClock,
        attempts: row('attempts', '||', of.line),
        ...(status.status === 'delivered' && !keepsDelivered && withoutContent(storage)),
      }))
      .where('id', '=', of.action_id);

  return {
    /** With its claim, before its first byte leaves. */
    claim: (db: QueryCreator<Schema>, of: Inserted, claimed: RawBuilder<boolean>) =>
      insert(db, of, { status: 'sending', stored_here: 0 }, claimed),

    /** In the embedded inbox: with its settling, which delivers it. */
    store: (db: QueryCreator<Schema>, of: Inserted, settled: RawBuilder<boolean>) =>
      insert(db, of, { status: 'delivered', stored_here: 1 }, settled),

    submit: (
      db: QueryCreator<Schema>,
      of: { action_id: string; line: string },
      settled: RawBuilder<boolean>,
    ) =>
      end(db, of, { status: 'delivered', reason: null })
        .where('status', '=', 'sending')
        .where(settled),

    fail: (
      db: QueryCreator<Schema>,
      of: { action_id: string; line: string },
      settled: RawBuilder<boolean>,
    ) =>
      end(db, of, { status: 'undelivered', reason: 'execution_failed' })
        .where('status', '=', 'sending')
        .where(settled),

    /** A yes that came after the lease: the receipt stays as it is. `sending` where it is settled by an older instance. */
    deliverLate: prepareChange(storage, (db, of: { action_id: string; line: string }) =>
      end(db, of, { status: 'delivered', reason: null })
        .where('origin', '=', 'agent')
        .where('status', 'in', ['sending', 'undelivered']),
    ),

    /** Under way for longer than a lease: as a rule there is none. */
    overdue: prepareRead(storage, (db, of: { lease_ms: number }) =>
      db
        .selectFrom('submissions')
        .select('id')
        // In the words of the index, by which a planner knows that it holds them.
        .where('status', '=', storage.dialect.constant('sending'))
        .where('lease_started_ms', 'is', null)
        .where((row) => row('received_ms', '<', row(storage.dialect.wallClock, '-', of.lease_ms))),
    ),

    /** Of an execution whose process died. */
    expire: prepareChange(storage, (db, of: { action_id: string; line: string }) =>
      end(db, of, { status: 'undelivered', reason: 'execution_failed' }).where(
        'status',
        '=',
        'sending',
      ),
    ),
  };
}
