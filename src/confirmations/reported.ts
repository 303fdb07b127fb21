/** What people have said that they did not ask for, for whoever watches (beyond §4, §7). */
import type { Storage } from '../storage/database.ts';

/** How many reports there were since that time, and when the last one came. Throws `StorageUnavailable`. */
export async function countReported(
  storage: Pick<Storage, 'read'>,
  since: Date,
): Promise<{ count: number; lastAt: string | null }> {
  const [reported] = await storage.read((db) =>
    db
      .selectFrom('confirmation_reports')
      .select((row) => [
        row.fn.countAll<number>().as('rows'),
        row.fn.max('reported_at').as('last_at'),
      ])
      .where('reported_at', '>=', since.toISOString()),
  );
  return { count: Number(reported?.rows ?? 0), lastAt: reported?.last_at ?? null };
}
