/** The statements that every execution runs; why they are enough is told in `executions.ts`. */
import type { Expression, ExpressionBuilder, QueryCreator, SqlBool } from 'kysely';
import type { Storage } from '../storage/database.ts';
import { prepareBoth, prepareChange, prepareRead, selectRow } from '../storage/prepare-query.ts';
import type { ExecutionRow, Schema } from '../storage/schema.ts';
import { type ExecutionSubmission, executionRows } from '../submissions/execution-rows.ts';
import { type AskedRow, insertAsked, pressQueries, type Settled } from './press-queries.ts';
import { reportsOf } from './reports.ts';

export type Claimed = Omit<
  ExecutionRow,
  'status' | 'lease_started_ms' | 'lease_ms' | 'settled_at' | 'signed_receipt' | 'receipt_kid'
>;

/** Takes how long a lease lasts, in milliseconds, and whether what was delivered keeps its content. */
export function prepareExecutionQueries(
  storage: Storage,
  { leaseMs, keepsDelivered }: { leaseMs: number; keepsDelivered: boolean },
) {
  const submissions = executionRows(storage, keepsDelivered);

  const insert = (
    db: QueryCreator<Schema>,
    of: Claimed,
    status: Pick<ExecutionRow, 'status' | 'settled_at'>,
    unless?: (row: ExpressionBuilder<Schema, never>) => Expression<SqlBool>,
  ) => {
    const row = {
      action_id: of.action_id,
      action: of.action,
      client: of.client,
      idempotency_key: of.idempotency_key,
      preview_digest: of.preview_digest,
      created_at: of.created_at,
      confirmation_text: of.confirmation_text,
      confirmed_via: of.confirmed_via,
      destination: of.destination,
      ...status,
      lease_ms: leaseMs,
    };
    const names = Object.keys(row) as (keyof typeof row)[];
    return db
      .insertInto('executions')
      .columns([...names, 'lease_started_ms'])
      .expression(
        selectRow(db, row)
          .select(storage.dialect.leaseClock.as('lease_started_ms'))
          .where((value) => (unless === undefined ? value.lit(true) : value.not(unless(value)))),
      )
      .onConflict((conflict) => conflict.doNothing());
  };
  const executing = { status: 'executing', settled_at: null } as const;
  const claim = (db: QueryCreator<Schema>, of: Claimed) => insert(db, of, executing);
  /** The same, where nobody at all has reported the client: then it does not depend on who. */
  const claimOfUnreported = (db: QueryCreator<Schema>, of: Claimed) =>
    insert(db, of, executing, (row) => row.exists(reportsOf(row, of.client)));

  const settle = (status: 'submitted' | 'failed') => {
    return (db: QueryCreator<Schema>, to: Omit<Settled, 'line'>) =>
      db
        .updateTable('executions')
        .set({ status, settled_at: to.settled_at })
        .where('preview_digest', '=', to.preview_digest)
        .where('action_id', '=', to.action_id)
        .where('status', '=', 'executing');
  };

  return {
    /** What is recorded for a client's key and for a preview: two rows at most. */
    find: prepareRead(
      storage,
      (db, of: Pick<Claimed, 'client' | 'idempotency_key' | 'preview_digest'>) =>
        db
          .selectFrom('executions')
          .selectAll()
          .select(storage.dialect.leaseHasRunOut.as('lease_has_run_out'))
          .where((row) =>
            row.or([
              row.and([
                row('client', '=', of.client),
                row('idempotency_key', '=', of.idempotency_key),
              ]),
              row('preview_digest', '=', of.preview_digest),
            ]),
          ),
    ),

    /** What one client executed; a row at most. */
    findByAction: prepareRead(storage, (db, of: Pick<Claimed, 'client' | 'action_id'>) =>
      db
        .selectFrom('executions')
        .selectAll()
        .where('action_id', '=', of.action_id)
        .where('client', '=', of.client),
    ),

    /** Changes no row where the key or the preview is taken. With it its submission is kept. */
    claim: prepareBoth<Claimed & ExecutionSubmission>(storage, claim, submissions.claim),
    claimOfUnreported: prepareBoth<Claimed & ExecutionSubmission>(
      storage,
      claimOfUnreported,
      submissions.claim,
    ),
    /** The embedded inbox keeps it when it delivers it. */
    claimAlone: prepareChange<Claimed>(storage, claim),
    claimAloneOfUnreported: prepareChange<Claimed>(storage, claimOfUnreported),
    /** The claim's own statement once more: unique by the same, sent by nobody yet (beyond §4). */
    ask: prepareBoth<Claimed & AskedRow>(
      storage,
      (db, of) => insert(db, of, { status: 'asked', settled_at: null }),
      insertAsked,
    ),
    /** The person's no, by the claim's own statement. */
    decline: prepareChange<Claimed>(storage, (db, of) =>
      insert(db, of, { status: 'declined', settled_at: of.created_at }),
    ),

    /** They change no row where it had ended before. */
    submit: prepareBoth<Settled>(storage, settle('submitted'), submissions.submit),
    fail: prepareBoth<Settled>(storage, settle('failed'), submissions.fail),
    store: prepareBoth<Omit<Settled, 'line'> & ExecutionSubmission>(
      storage,
      settle('submitted'),
      submissions.store,
    ),
    ...pressQueries(storage, leaseMs, submissions),
    deliverLate: submissions.deliverLate,
    overdue: submissions.overdue,
    expireSubmission: submissions.expire,
  };
}
