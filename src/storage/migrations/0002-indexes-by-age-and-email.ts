import type { Kysely } from 'kysely';

/** Retention looks for receipts by their age, erasure for a person's rows by their address. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .createIndex('executions_created_at')
    .on('executions')
    .column('created_at')
    .execute();
  await db.schema.createIndex('inbox_email').on('inbox').column('email').execute();
}
