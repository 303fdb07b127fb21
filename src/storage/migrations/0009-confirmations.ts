import { type Kysely, sql } from 'kysely';

/**
 * What the person's own page needs beside the row of the execution (beyond §4): a row that is `asked` has one
 * here, under the same id. Reports and codes name nobody: a mailbox stands in them as a keyed digest.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('confirmations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('client', 'text', (column) => column.notNull())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('via', 'text', (column) => column.notNull())
    .addColumn('destination', 'text', (column) => column.notNull())
    .addColumn('secret_digest', 'text', (column) => column.notNull())
    .addColumn('mailbox_digest', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('fields', 'text')
    .addColumn('email', 'text')
    .addColumn('code_number', 'integer', (column) => column.notNull())
    .addColumn('code_expires_at', 'text')
    .addColumn('wrong_codes', 'integer', (column) => column.notNull())
    .addColumn('press_id', 'text')
    .execute();
  await db.schema
    .createIndex('confirmations_secret')
    .unique()
    .on('confirmations')
    .column('secret_digest')
    .execute();
  const pending = sql<boolean>`fields is not null`;
  await db.schema
    .createIndex('confirmations_pending')
    .on('confirmations')
    .columns(['client', 'created_at'])
    .where(pending)
    .execute();
  await db.schema
    .createIndex('confirmations_due')
    .on('confirmations')
    .column('expires_at')
    .where(pending)
    .execute();
  await db.schema
    .createIndex('confirmations_email')
    .on('confirmations')
    .column('email')
    .where(sql<boolean>`email is not null`)
    .execute();
  await db.schema
    .createIndex('confirmations_created_at')
    .on('confirmations')
    .column('created_at')
    .execute();
  await db.schema
    .createTable('confirmation_codes')
    .addColumn('id', 'text', (column) => column.notNull())
    .addColumn('number', 'integer', (column) => column.notNull())
    .addColumn('client', 'text', (column) => column.notNull())
    .addColumn('mailbox_digest', 'text', (column) => column.notNull())
    .addColumn('asked_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('confirmation_codes_id_number', ['id', 'number'])
    .execute();
  await db.schema
    .createIndex('confirmation_codes_asked_at')
    .on('confirmation_codes')
    .column('asked_at')
    .execute();
  await db.schema
    .createTable('confirmation_reports')
    .addColumn('client', 'text', (column) => column.notNull())
    .addColumn('mailbox_digest', 'text', (column) => column.notNull())
    .addColumn('reported_at', 'text', (column) => column.notNull())
    .addPrimaryKeyConstraint('confirmation_reports_key', ['client', 'mailbox_digest'])
    .execute();
}
