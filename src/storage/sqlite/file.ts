/** Opens SQLite's database file: only for its owner, durable, without access to other files. Rewrites it on request. */
import { chmodSync, statSync } from 'node:fs';
import { constants, DatabaseSync } from 'node:sqlite';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { Scrubbed } from '../database.ts';
import { openThread } from './thread.ts';

/** Number of pages in the write-ahead log at which a commit moves the log into the file. It is SQLite's default. */
export const CHECKPOINT_PAGES = 1_000;

/**
 * Opens or creates the file with mode 0600. `monotonic_ms()` reads the clock of leases, `wall_ms()` the clock of
 * schedules. A commit moves the write-ahead log into the file once the log has `checkpointPages` pages. 0 means never.
 */
export function openFile(path: string, clock: Clock, checkpointPages = CHECKPOINT_PAGES): DatabaseSync {
  const database = new DatabaseSync(path, { timeout: 0 });
  const settings = [
    'journal_mode=wal',
    'synchronous=full',
    'foreign_keys=on',
    'secure_delete=on',
    // By default, a long statement writes the earlier content of its pages to a file in `/var/tmp`, for a rollback.
    'temp_store=memory',
    `wal_autocheckpoint=${checkpointPages}`,
  ];
  for (const setting of settings) database.exec(`pragma ${setting}`);
  // SQLite calls such a function once per statement, not once per row and column.
  const once = { deterministic: true };
  database.function('monotonic_ms', once, () => clock.monotonic());
  database.function('wall_ms', once, () => clock.now().getTime());
  // No statement reaches another file. This also forbids VACUUM, which attaches a temporary file.
  database.setAuthorizer((action) =>
    action === constants.SQLITE_ATTACH ? constants.SQLITE_DENY : constants.SQLITE_OK,
  );
  if (path !== ':memory:') chmodSync(path, 0o600);
  return database;
}

/**
 * Expected time for which a rewrite holds the write lock, in milliseconds per MB of the file. Two shared cores take
 * 6 ms per MB (2026-11-25). The higher value allows for slower disks.
 */
const LOCK_MS_PER_MB = 20;

/** Number of times that a rewrite waits for readers of other processes, and length of each wait in milliseconds. */
const READER_TRIES = 40;
const READER_RETRY_MS = 50;

/** Returns the expected time for which a rewrite of this file holds the write lock, in milliseconds. */
export function scrubLockMsOf(path: string): number {
  return (statSync(path).size / 1e6) * LOCK_MS_PER_MB;
}

/**
 * Rewrites the file in a thread and empties its write-ahead log. `secure_delete` overwrites a deleted cell, but not the
 * copies that an earlier split of its page left in free space. Only a rewrite removes these copies.
 * @throws any error except an error of the disk or of a lock
 */
export async function scrubSqlite(path: string, readerTries = READER_TRIES): Promise<Scrubbed> {
  const thread = openThread(path, false);
  try {
    await thread.run('pragma synchronous=full');
    await thread.run('pragma secure_delete=on');
    // The commit of VACUUM also moves the log into the file, while other connections can write again.
    await thread.run('vacuum');
    // A checkpoint that empties the log blocks writers, so it must not wait for readers itself.
    await thread.run('pragma busy_timeout=0');
    for (let tries = 0; tries < readerTries; tries += 1) {
      await thread.run('pragma wal_checkpoint(passive)');
      const { rows } = await thread.run('pragma wal_checkpoint(truncate)');
      if (rows[0]?.busy === 0) return 'clean';
      await systemClock.sleep(READER_RETRY_MS);
    }
    return 'held';
  } catch (error) {
    if ((error as { errcode?: number }).errcode === undefined) throw error;
    return 'failed';
  } finally {
    await thread.end();
  }
}

/** Returns true if another connection has the file open, in this process or another process. */
export function isOpenElsewhere(path: string): boolean {
  const database = new DatabaseSync(path, { timeout: 0 });
  try {
    // Every connection to a write-ahead log holds a shared lock.
    database.exec('pragma locking_mode=exclusive; begin exclusive; rollback');
    return false;
  } catch {
    return true;
  } finally {
    database.close();
  }
}
