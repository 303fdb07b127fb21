/** What deleted rows leave behind in the database's own files, and how it is taken out of them. */
import { sql } from 'kysely';
import { systemClock } from '../clock.ts';
import { type Storage, StorageUnavailable } from './database.ts';

/** How long a reader of another process is waited for, looking this often. */
const READER_TRIES = 40;
const READER_RETRY_MS = 50;

export type Scrubbed =
  /** SQLite: nothing of a deleted row is in the database or its write-ahead log. */
  | 'clean'
  /** SQLite: a reader in another process keeps the write-ahead log from being emptied. */
  | 'held'
  /** SQLite: the file could not be rewritten, for want of disk space or of a lock. */
  | 'failed'
  /** PostgreSQL: the dead rows were vacuumed away. */
  | 'vacuumed'
  /** PostgreSQL: it did not end in time; the server's own autovacuum comes to it. */
  | 'unvacuumed';

/** Takes the store; never throws because the store is away. */
export async function scrub(storage: Storage): Promise<Scrubbed> {
  const isSqlite = storage.kind === 'sqlite';
  try {
    return isSqlite ? await scrubSqlite(storage) : await vacuumPostgres(storage);
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    return isSqlite ? 'failed' : 'unvacuumed';
  }
}

/**
 * `secure_delete` overwrites a cell where it is deleted, not the copies that an earlier split of its
 * page left in free space: only rewriting the file is sure. The log is emptied afterwards.
 */
async function scrubSqlite({ db }: Storage): Promise<Scrubbed> {
  await sql`vacuum`.execute(db);
  for (let tries = 0; tries < READER_TRIES; tries += 1) {
    const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
    if (rows[0]?.busy === 0) return 'clean';
    await systemClock.sleep(READER_RETRY_MS);
  }
  return 'held';
}

async function vacuumPostgres({ db }: Storage): Promise<Scrubbed> {
  await sql`vacuum (index_cleanup on) inbox, outbox`.execute(db);
  return 'vacuumed';
}
