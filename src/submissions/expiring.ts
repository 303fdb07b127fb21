/** Kept content in its last week: 83 of its 90 days have passed (beyond §1, "Retention"). */
import type { Storage } from '../storage/database.ts';
import { prepareRead } from '../storage/prepare-query.ts';

const EXPIRES_SOON_AFTER_MS = 83 * 86_400_000;

/**
 * What counts the browser submissions whose last week began after a moment, which is null at first, and says up
 * to which it looked. Both are 83 days ago, by the wall clock of the database.
 */
export function openExpiring(
  storage: Storage,
): (afterMs: number | null) => Promise<{ count: number; untilMs: number }> {
  const now = prepareRead(storage, (db) =>
    db.selectNoFrom(storage.dialect.wallClock.as('milliseconds')),
  );
  const counted = prepareRead(storage, (db, of: { after: number; until: number }) =>
    db
      .selectFrom('submissions')
      .select((row) => row.fn.countAll<number>().as('rows'))
      .where('status', '=', 'undelivered')
      .where('status_since_ms', '>', of.after)
      .where('status_since_ms', '<=', of.until)
      // An agent's failed execution is never sent again by anybody.
      .where('origin', '=', 'browser')
      // Null where the content is gone.
      .where('email', 'is not', null),
  );
  return async (afterMs) => {
    const [clock] = await storage.read(now({}));
    const untilMs = Math.floor(Number(clock?.milliseconds)) - EXPIRES_SOON_AFTER_MS;
    const [found] = await storage.read(counted({ after: afterMs ?? 0, until: untilMs }));
    return { count: Number(found?.rows ?? 0), untilMs };
  };
}
