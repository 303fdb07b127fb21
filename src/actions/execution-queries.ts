/** The statements that every execution runs; why they are enough is told in `executions.ts`. */
import type { Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/prepare-query.ts';
import type { ExecutionRow } from '../storage/schema.ts';

type Claimed = Pick<
  ExecutionRow,
  | 'action_id'
  | 'action'
  | 'client'
  | 'idempotency_key'
  | 'preview_digest'
  | 'created_at'
  | 'confirmation_text'
>;

/** Takes how long a lease lasts, in milliseconds. */
export function prepareExecutionQueries(storage: Storage, leaseMs: number) {
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

    /** Changes no row where the key or the preview is taken. */
    claim: prepareChange(storage, (db, of: Claimed) =>
      db
        .insertInto('executions')
        .values({
          action_id: of.action_id,
          action: of.action,
          client: of.client,
          idempotency_key: of.idempotency_key,
          preview_digest: of.preview_digest,
          status: 'executing',
          created_at: of.created_at,
          confirmation_text: of.confirmation_text,
          lease_started_ms: storage.dialect.leaseClock,
          lease_ms: leaseMs,
          settled_at: null,
        })
        .onConflict((conflict) => conflict.doNothing()),
    ),

    /** Changes no row where it had ended before. */
    settle: prepareChange(
      storage,
      (
        db,
        to: {
          preview_digest: string;
          action_id: string;
          status: 'submitted' | 'failed';
          settled_at: string;
        },
      ) =>
        db
          .updateTable('executions')
          .set({ status: to.status, settled_at: to.settled_at })
          .where('preview_digest', '=', to.preview_digest)
          .where('action_id', '=', to.action_id)
          .where('status', '=', 'executing'),
    ),

    /** Every claim whose lease has run out. */
    settleExpired: prepareChange(storage, (db, to: { settled_at: string }) =>
      db
        .updateTable('executions')
        .set({ status: 'failed', settled_at: to.settled_at })
        .where('status', '=', 'executing')
        .where(storage.dialect.leaseHasRunOut),
    ),
  };
}
