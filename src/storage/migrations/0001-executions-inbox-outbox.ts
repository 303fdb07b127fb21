import { type Kysely, sql } from 'kysely';

export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('executions')
    .addColumn('action_id', 'text', (column) => column.primaryKey())
    .addColumn('action', 'text', (column) => column.notNull())
    .addColumn('client', 'text', (column) => column.notNull())
    .addColumn('idempotency_key', 'text', (column) => column.notNull())
    .addColumn('preview_digest', 'text', (column) => column.notNull().unique())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('confirmation_text', 'text', (column) => column.notNull())
    .addColumn('lease_started_ms', 'double precision', (column) => column.notNull())
    .addColumn('lease_ms', 'integer', (column) => column.notNull())
    .addColumn('settled_at', 'text')
    .addUniqueConstraint('executions_client_key', ['client', 'idempotency_key'])
    .execute();
  await db.schema
    .createIndex('executions_in_progress')
    .on('executions')
    .column('lease_started_ms')
    .where(sql.ref('status'), '=', sql.lit('executing'))
    .execute();

  await db.schema
    .createTable('inbox')
    .addColumn('event_id', 'text', (column) => column.primaryKey())
    .addColumn('type', 'text', (column) => column.notNull())
    .addColumn('form', 'text', (column) => column.notNull())
    .addColumn('email', 'text', (column) => column.notNull())
    .addColumn('received_at', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .execute();
  await db.schema.createIndex('inbox_received_at').on('inbox').column('received_at').execute();
  await db.schema
    .createIndex('inbox_subscriber')
    .on('inbox')
    .column('email')
    .unique()
    .where(sql.ref('type'), '=', sql.lit('subscriber.created'))
    .execute();

  await db.schema
    .createTable('outbox')
    .addColumn('mailbox', 'text', (column) => column.primaryKey())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('message_id', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('requested_at', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_attempt_at', 'text', (column) => column.notNull())
    .addColumn('last_attempt_at', 'text')
    .execute();
  await db.schema
    .createIndex('outbox_due')
    .on('outbox')
    .columns(['status', 'next_attempt_at'])
    .execute();
}
