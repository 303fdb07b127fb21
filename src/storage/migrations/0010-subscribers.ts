import { type Kysely, sql } from 'kysely';
import type { Storage } from '../database.ts';

/**
 * Subscribers (beyond §6), and whose subscription or event a submission is. Addresses are in the order of their
 * bytes, whatever the database's collation: the beginning of one is looked for as well. Whoever lists them walks
 * the ids, which are in the order of time, or the addresses.
 */
export async function up(db: Kysely<unknown>, kind: Storage['kind']): Promise<void> {
  await db.schema
    .createTable('subscribers')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('email', kind === 'sqlite' ? 'text' : sql`text collate "C"`, (column) =>
      column.notNull(),
    )
    .addColumn('contractor', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('made_by', 'text', (column) => column.notNull())
    .addColumn('confirm_token', 'text', (column) => column.notNull())
    .addColumn('leave_token', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('consent_recorded_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .addColumn('confirmed_at', 'text')
    .addColumn('unsubscribed_at', 'text')
    .execute();
  for (const column of ['email', 'confirm_token', 'leave_token']) {
    await db.schema
      .createIndex(`subscribers_${column}`)
      .unique()
      .on('subscribers')
      .column(column)
      .execute();
  }
  await db.schema
    .createIndex('subscribers_status_id')
    .on('subscribers')
    .columns(['status', 'id'])
    .execute();
  await db.schema
    .createIndex('subscribers_status_email')
    .on('subscribers')
    .columns(['status', 'email'])
    .execute();
  await db.schema
    .createIndex('subscribers_due')
    .on('subscribers')
    .column('expires_at')
    .where(sql<boolean>`expires_at is not null`)
    .execute();
  await db.schema.alterTable('submissions').addColumn('subscriber_id', 'text').execute();
  await db.schema
    .createIndex('submissions_subscriber_id')
    .on('submissions')
    .column('subscriber_id')
    .where(sql<boolean>`subscriber_id is not null`)
    .execute();
}
