import type { Kysely } from 'kysely';

/** Who may use the operator's console, and what they did there (beyond §7). */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('operator_links')
    .addColumn('digest', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('used_at', 'text')
    .execute();
  await db.schema
    .createTable('operator_sessions')
    .addColumn('digest', 'text', (column) => column.primaryKey())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('linked_at', 'text', (column) => column.notNull())
    .addColumn('signed_in_at', 'text', (column) => column.notNull())
    .addColumn('last_seen_at', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createTable('operator_audit')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('name', 'text', (column) => column.notNull())
    .addColumn('what', 'text', (column) => column.notNull())
    .addColumn('about', 'text', (column) => column.notNull())
    .execute();
  await db.schema
    .createIndex('operator_audit_at')
    .on('operator_audit')
    .columns(['at', 'id'])
    .execute();
}
