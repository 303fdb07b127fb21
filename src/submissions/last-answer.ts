/** What the upstream said last, as far as the newest submissions tell (beyond §7). */
import type { Storage } from '../storage/database.ts';
import { type Attempt, attemptsOf } from './attempts.ts';
import { keysOf } from './listing-queries.ts';

/** So many of the newest are looked at: an older one may have been sent again since. */
const LOOKED_AT = 50;

/** Undefined where nothing was sent yet. Throws `StorageUnavailable`. */
export async function lastAnswer(storage: Storage): Promise<Attempt | undefined> {
  const keys = await storage.read(keysOf(storage, {}, { direction: 'desc', limit: LOOKED_AT }));
  if (keys.length === 0) return undefined;
  const ids = keys.map(({ id }) => id);
  const rows = await storage.read((db) =>
    db.selectFrom('submissions').select('attempts').where('id', 'in', ids),
  );
  const endedAt = ({ at, ms }: Attempt) => Date.parse(at) + ms;
  return rows
    .flatMap(({ attempts }) => attemptsOf(attempts).slice(-1))
    .sort((one, other) => endedAt(one) - endedAt(other))
    .at(-1);
}
