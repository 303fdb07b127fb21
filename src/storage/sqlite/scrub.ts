/** Takes out of the database's own files what deleted rows left behind in them. */
import type { Kysely } from 'kysely';
import { systemClock } from '../../clock.ts';
import { type Scrubbed, StorageUnavailable } from '../database.ts';
import type { Schema } from '../schema.ts';
import { kysely } from './kysely.ts';

/** How long a reader of another process is waited for, looking this often. */
const READER_TRIES = 40;
const READER_RETRY_MS = 50;

/**
 * `secure_delete` overwrites a cell where it is deleted, not the copies that an earlier split of its
 * page left in free space: only rewriting the file is sure. The log is emptied afterwards.
 */
export async function scrubSqlite(db: Kysely<Schema>): Promise<Scrubbed> {
  const { sql } = kysely();
  try {
    await sql`vacuum`.execute(db);
    for (let tries = 0; tries < READER_TRIES; tries += 1) {
      const { rows } = await sql<{ busy: number }>`pragma wal_checkpoint(truncate)`.execute(db);
      if (rows[0]?.busy === 0) return 'clean';
      await systemClock.sleep(READER_RETRY_MS);
    }
    return 'held';
  } catch (error) {
    if (!(error instanceof StorageUnavailable)) throw error;
    return 'failed';
  }
}
