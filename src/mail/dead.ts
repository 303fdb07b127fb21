/** Messages that were given up, for whoever watches (beyond §7). */
import type { Storage } from '../storage/database.ts';

/** How many there are. Throws `StorageUnavailable`. */
export async function countDead(storage: Pick<Storage, 'read'>): Promise<number> {
  const [dead] = await storage.read((db) =>
    db
      .selectFrom('messages')
      .select((row) => row.fn.countAll<number>().as('rows'))
      .where('status', '=', 'dead'),
  );
  return Number(dead?.rows ?? 0);
}
