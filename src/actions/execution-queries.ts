/** The statements that every execution runs; why they are enough is told in `executions.ts`. */
import type { Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/prepare-query.ts';
import type { ExecutionRow } from '../storage/schema.ts';

type Claimed = Omit<ExecutionRow, 'status' | 'lease_started_ms' | 'lease_ms' | 'settled_at'>;
type Settled = Pick<ExecutionRow, 'preview_digest' | 'action_id' | 'status' | 'settled_at'>;

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
          ...of,
          status: 'executing',
          lease_started_ms: storage.dialect.leaseClock,
          lease_ms: leaseMs,
          settled_at: null,
        })
        .onConflict((conflict) => conflict.doNothing()),
    ),

    /** Changes no row where it had ended before. */
    settle: prepareChange(storage, (db, to: Settled) =>
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
