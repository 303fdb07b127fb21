/** The database file of SQLite: opened for its owner alone, durable, and with a way to no other file. */
import { chmodSync, statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { constants, DatabaseSync } from 'node:sqlite';
import type { Clock } from '../../clock.ts';
import { StorageUnavailable } from '../database.ts';

/** Room for the settling of what is claimed already, and for a checkpoint. */
const ROOM_MINIMUM_BYTES = 16 * 1024 * 1024;

/** In so long the service itself writes far less than that. */
const LOOK_EVERY_MS = 10;

/** Opens (or creates, mode 0600) the file; leases are judged by `monotonic_ms()`, schedules by `wall_ms()`. */
export function openFile(path: string, clock: Clock): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 });
  database.exec(
    'pragma journal_mode=wal; pragma synchronous=full; pragma foreign_keys=on; pragma secure_delete=on;',
  );
  // One moment for the whole of a statement, as SQLite's own clock has: it is asked once, not for each row and column.
  const once = { deterministic: true };
  database.function('monotonic_ms', once, () => clock.monotonic());
  database.function('wall_ms', once, () => clock.now().getTime());
  database.setAuthorizer(denyAttach);
  if (path !== ':memory:') chmodSync(path, 0o600);
  return database;
}

/**
 * Takes the file's path; returns what throws `StorageUnavailable` where its disk has no more room than open
 * executions may need. Those that come together share a look at it.
 */
export function roomRequirer(path: string, clock: Clock): () => void {
  let lookedAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.monotonic();
    if (now - lookedAt < LOOK_EVERY_MS) return;
    const { bavail, bsize } = statfsSync(dirname(path));
    if (bavail * bsize < ROOM_MINIMUM_BYTES) {
      throw new StorageUnavailable('The disk has less than 16 MB free.');
    }
    lookedAt = now;
  };
}

/** No statement reaches another file; a vacuum attaches a temporary one, which has no name. */
function denyAttach(action: number, file: string | null): number {
  const isAttach = action === constants.SQLITE_ATTACH && file !== '';
  return isAttach ? constants.SQLITE_DENY : constants.SQLITE_OK;
}
