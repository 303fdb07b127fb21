/** What each client did lately, for the operator (beyond §7): counted in the newest executions. */
import type { Clock } from '../clock.ts';
import type { Storage } from '../storage/database.ts';
import type { ExecutionRow } from '../storage/schema.ts';

export type ClientUse = {
  client: string;
  /** By what became of them. */
  counts: Partial<Record<ExecutionRow['status'], number>>;
  /** When the newest was claimed or asked for. */
  lastAt: string;
};

/** So many are looked at. */
export const LOOKED_AT_ROWS = 10_000;
const PIECE_ROWS = 1_000;

/** A client that did nothing in these is not there. Throws `StorageUnavailable`. */
export async function useOfClients({
  storage,
  clock,
}: {
  storage: Storage;
  clock: Pick<Clock, 'turn'>;
}): Promise<Map<string, ClientUse>> {
  const uses = new Map<string, ClientUse>();
  // PostgreSQL runs elsewhere: there it is the way to it and back that costs.
  const rows = storage.kind === 'postgres' ? LOOKED_AT_ROWS : PIECE_ROWS;
  for (let from = 0; from < LOOKED_AT_ROWS; from += rows) {
    const counted = await storage.read((db) =>
      db
        .selectFrom(
          db
            .selectFrom('executions')
            .select(['client', 'status', 'created_at'])
            .orderBy('created_at', 'desc')
            .limit(storage.dialect.constant(rows))
            .offset(storage.dialect.constant(from))
            .as('newest'),
        )
        .select((row) => [
          'client',
          'status',
          row.fn.countAll<number>().as('rows'),
          row.fn.max('created_at').as('last_at'),
        ])
        .groupBy(['client', 'status']),
    );
    for (const { client, status, rows: count, last_at } of counted) {
      const use = uses.get(client) ?? { client, counts: {}, lastAt: last_at };
      use.counts[status] = (use.counts[status] ?? 0) + Number(count);
      if (last_at > use.lastAt) use.lastAt = last_at;
      uses.set(client, use);
    }
    if (counted.length === 0) break;
    await clock.turn();
  }
  return uses;
}
