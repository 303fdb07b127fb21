import { type Kysely, sql } from 'kysely';

/**
 * Messages of every kind, by kind and key, and the hours in which those to the operator are counted. The table
 * `outbox` stays for instances of the version before: its rows are moved by the outbox itself, at its start too,
 * for one of them may be under way there now.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('messages')
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('key', 'text', (column) => column.notNull())
    .addColumn('address', 'text')
    .addColumn('about', 'text')
    .addColumn('priority', 'integer', (column) => column.notNull())
    .addColumn('message_id', 'text', (column) => column.notNull())
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('requested_at', 'text', (column) => column.notNull())
    .addColumn('attempts', 'integer', (column) => column.notNull())
    .addColumn('next_attempt_at', 'text', (column) => column.notNull())
    .addColumn('last_attempt_at', 'text')
    .addColumn('attempt_started_ms', 'double precision')
    .addPrimaryKeyConstraint('messages_kind_key', ['kind', 'key'])
    .execute();
  await db.schema
    .createIndex('messages_due')
    .on('messages')
    .columns(['status', 'priority', 'next_attempt_at'])
    .execute();
  await db.schema
    .createTable('mail_hours')
    .addColumn('kind', 'text', (column) => column.primaryKey())
    .addColumn('began_at', 'text')
    .addColumn('sent', 'integer', (column) => column.notNull())
    .addColumn('counted', 'text', (column) => column.notNull())
    .addColumn('lasts', 'integer', (column) => column.notNull())
    .addColumn('alert_key', 'text')
    .addColumn('looked_until_ms', 'double precision')
    .execute();
  // All there from the start, so that whoever changes one can lock it.
  await sql`
    insert into mail_hours (kind, sent, counted, lasts) values
      ('notice', 0, '{}', 0), ('upstream', 0, '{}', 0), ('given_up', 0, '{}', 0),
      ('dead_message', 0, '{}', 0), ('store', 0, '{}', 0), ('disk', 0, '{}', 0),
      ('reported', 0, '{}', 0), ('expiring', 0, '{}', 0)`.execute(db);
}
