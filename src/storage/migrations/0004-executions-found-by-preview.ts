import { type Kysely, sql } from 'kysely';
import type { Storage } from '../database.ts';

/**
 * An execution is found by its client's key or by its preview. A third index over ids that come in no
 * order was a quarter of what a commit had to write.
 */
export async function up(db: Kysely<unknown>, kind: Storage['kind']): Promise<void> {
  if (kind === 'postgres') {
    await db.schema.alterTable('executions').dropConstraint('executions_pkey').execute();
    // What logical replication tells a row by.
    await sql`alter table executions replica identity using index executions_preview_digest_key`.execute(
      db,
    );
    return;
  }
  // SQLite drops a primary key with its table alone.
  await db.schema
    .createTable('executions_rebuilt')
    .addColumn('action_id', 'text', (column) => column.notNull())
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
  await sql`insert into executions_rebuilt select * from executions order by created_at`.execute(
    db,
  );
  await db.schema.dropTable('executions').execute();
  await db.schema.alterTable('executions_rebuilt').renameTo('executions').execute();
  await db.schema
    .createIndex('executions_in_progress')
    .on('executions')
    .column('lease_started_ms')
    .where(sql.ref('status'), '=', sql.lit('executing'))
    .execute();
  await db.schema
    .createIndex('executions_created_at')
    .on('executions')
    .column('created_at')
    .execute();
}
