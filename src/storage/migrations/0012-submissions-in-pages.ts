import { type Kysely, sql } from 'kysely';
import type { Storage } from '../database.ts';

/**
 * The operator's console reads a million submissions in pages (beyond §7). Each filter is a few walks along one
 * index: status, form and origin first, then the order in which the pages are. The beginning of an address and a
 * telephone number have that order with them, so that of many that are found none is looked up to be sorted; and
 * what is counted by day and origin is counted in the index.
 */
export async function up(db: Kysely<unknown>, kind: Storage['kind']): Promise<void> {
  for (const name of ['form', 'open', 'received', 'email', 'telephone']) {
    await db.schema.dropIndex(`submissions_${name}`).execute();
  }
  const bytes = sql.raw(kind === 'sqlite' ? '' : ' text_pattern_ops');
  await sql`create index submissions_listed on submissions (status, form, origin, received_ms, id)`.execute(
    db,
  );
  await sql`create index submissions_received on submissions (received_ms, id, origin)`.execute(db);
  await sql`create index submissions_email on submissions (email${bytes}, received_ms, id)`.execute(
    db,
  );
  await sql`create index submissions_telephone on submissions (telephone, received_ms, id)
    where telephone is not null`.execute(db);

  // The same pages of what was asked, and of messages that could not be sent.
  await db.schema.dropIndex('confirmations_created_at').execute();
  await db.schema
    .createIndex('confirmations_created_at')
    .on('confirmations')
    .columns(['created_at', 'id'])
    .execute();
  await db.schema
    .createIndex('messages_dead')
    .on('messages')
    .columns(['requested_at', 'message_id'])
    .where(sql.ref('status'), '=', sql.lit('dead'))
    .execute();
}
