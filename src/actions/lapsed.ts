/** Settles the executions whose lease has run out: their process died (see `executions.ts`). */
import type { OpenTransaction, Storage } from '../storage/database.ts';
import { type Attempt, lineOf } from '../submissions/attempts.ts';
import type { prepareExecutionQueries } from './execution-queries.ts';
import type { Settling } from './settling.ts';

type LapsedParts = {
  storage: Storage;
  queries: ReturnType<typeof prepareExecutionQueries>;
  settling: Pick<Settling, 'idle' | 'resolve' | 'known'>;
  leaseMs: number;
  now(): string;
};

/** Returns what settles them all; it says how many. It throws `StorageUnavailable`. */
export function openLapsed(parts: LapsedParts): () => Promise<number> {
  const { storage, queries, settling, leaseMs, now } = parts;

  /**
   * What an instance of the version before has settled during a roll: it knows of no submission (beyond §1,
   * "Upgrade").
   */
  async function leftByOlder() {
    const overdue = await storage.read(queries.overdue({ lease_ms: leaseMs }));
    if (overdue.length === 0) return [];
    return await storage.read((db) =>
      db
        .selectFrom('executions')
        .select(['action_id', 'created_at', 'lease_ms'])
        .where('status', '=', 'failed')
        .where(
          'action_id',
          'in',
          overdue.map(({ id }) => id),
        ),
    );
  }

  /** Every claim whose lease has run out. */
  const expire = (tx: OpenTransaction, settled_at: string) => {
    // Learnt since it was waited for: who knows it writes it.
    const known = settling.known();
    return tx
      .updateTable('executions')
      .set({ status: 'failed', settled_at })
      .$if(known.length > 0, (query) => query.where('action_id', 'not in', known))
      .where('status', '=', storage.dialect.constant('executing'))
      .where(storage.dialect.leaseHasRunOut)
      .returning(['action_id', 'created_at', 'lease_ms']);
  };

  return async () => {
    // What is known here comes first, also where writing it is about to fail.
    await settling.idle();
    await settling.resolve();
    const settled_at = now();
    const left = await leftByOlder();
    return await storage.write(async (tx) => {
      const rows = await expire(tx, settled_at).execute();
      for (const { action_id, created_at, lease_ms } of [...rows, ...left]) {
        const attempt: Attempt = { at: created_at, ms: lease_ms, outcome: 'unknown', by: 'first' };
        await tx.change(queries.expireSubmission({ action_id, line: lineOf(attempt) }));
      }
      return rows.length;
    });
  };
}
