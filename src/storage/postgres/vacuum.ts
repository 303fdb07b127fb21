/** Removes dead rows from PostgreSQL's tables. */
import pg from 'pg';
import { systemClock } from '../../platform/clock.ts';
import { type Scrubbed, StorageUnavailable } from '../database.ts';
import type { tables } from '../schema.ts';
import { SESSION, toStorageError } from './connection.ts';

/** Number of waits for older transactions, and length of each wait in milliseconds. */
const HOLDER_TRIES = 40;
const HOLDER_RETRY_MS = 50;

/** Finds older transactions, which keep VACUUM from removing deleted rows. VACUUM does not report them. */
const HELD = `
  select exists (
    select from pg_stat_activity
    where pid <> pg_backend_pid() and backend_type is distinct from 'autovacuum worker'
      and (datname = current_database() or datname is null)
      and greatest(age(backend_xmin), age(backend_xid)) > age($1::text::xid)
    union all
    select from pg_prepared_xacts
    where database = current_database() and age(transaction) > age($1::text::xid)
    union all
    select from pg_replication_slots where age(xmin) > age($1::text::xid)
  ) as held`;

/** Tables from which an erasure deletes data. */
const PERSONAL: readonly (typeof tables)[number][] = [
  'submissions',
  'subscribers',
  'confirmations',
  'messages',
  'operator_links',
  'sandbox_contents',
];

/** Vacuums over its own connection. If a role does not own a table, VACUUM skips the table and only sends a warning. */
export async function vacuum(config: pg.ClientConfig): Promise<Scrubbed> {
  const client = new pg.Client(config);
  let warned = false;
  client.on('notice', () => {
    warned = true;
  });
  client.on('error', () => {}); // After a lost connection, the next query fails.
  try {
    await client.connect();
    await client.query(SESSION);
    const wasHeld = await isHeld(client);
    await client.query(`vacuum (index_cleanup on) ${PERSONAL.join(', ')}`);
    if (warned) return 'unvacuumed';
    return wasHeld ? 'seen' : 'vacuumed';
  } catch (error) {
    const explained = toStorageError(error);
    if (explained instanceof StorageUnavailable) return 'unvacuumed';
    throw explained;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Waits for older transactions. Returns true if an older transaction may still see rows that are deleted by now. */
async function isHeld(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ next: string }>(
    'select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint % 4294967296)::text as next',
  );
  const next = rows[0]?.next;
  for (let tries = 0; tries < HOLDER_TRIES; tries += 1) {
    const { rows: found } = await client.query<{ held: boolean }>(HELD, [next]);
    if (!found[0]?.held) return false;
    await systemClock.sleep(HOLDER_RETRY_MS);
  }
  return true;
}
