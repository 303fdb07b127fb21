/** Takes dead rows out of PostgreSQL's tables, and says whether they went. */
import pg from 'pg';
import { systemClock } from '../../clock.ts';
import { type Scrubbed, StorageUnavailable } from '../database.ts';
import { judge } from './errors.ts';

/** How long a transaction that may still see deleted rows is waited for, looking this often. */
const HOLDER_TRIES = 40;
const HOLDER_RETRY_MS = 50;

/** Whoever began before this moment keeps VACUUM from removing what was deleted until then, and it does not say so. */
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

/**
 * Takes how to connect, and what a session begins with. A role that does not own a table is only warned, and the table
 * is skipped: so the connection is its own, and its warnings are listened for.
 */
export async function vacuum(config: pg.ClientConfig, session: string): Promise<Scrubbed> {
  const client = new pg.Client(config);
  let warned = false;
  client.on('notice', () => {
    warned = true;
  });
  client.on('error', () => {}); // what is asked next fails of it
  try {
    await client.connect();
    await client.query(session);
    const wasHeld = await isHeld(client);
    await client.query(
      'vacuum (index_cleanup on) submissions, subscribers, confirmations, inbox, messages, outbox',
    );
    if (warned) return 'unvacuumed';
    return wasHeld ? 'seen' : 'vacuumed';
  } catch (error) {
    const judged = judge(error);
    if (judged instanceof StorageUnavailable) return 'unvacuumed';
    throw judged;
  } finally {
    await client.end().catch(() => {});
  }
}

/** Whether somebody else may still see what is deleted by now, after some waiting. */
async function isHeld(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ next: string }>(
    'select (pg_snapshot_xmax(pg_current_snapshot())::text::bigint % 4294967296)::text as next',
  );
  const next = rows[0]?.next;
  for (let tries = 0; tries < HOLDER_TRIES; tries += 1) {
    const { rows: asked } = await client.query<{ held: boolean }>(HELD, [next]);
    if (!asked[0]?.held) return false;
    await systemClock.sleep(HOLDER_RETRY_MS);
  }
  return true;
}
