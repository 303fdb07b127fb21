import type { Kysely } from 'kysely';

/** Mailboxes are known by a key of their own, which outlives the signing keys (beyond §4): see `actions/mailbox.ts`. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createTable('mailbox_keys')
    .addColumn('signing_key', 'text', (column) => column.primaryKey())
    .addColumn('wrapped', 'text', (column) => column.notNull())
    .execute();
}
