import type { Kysely } from 'kysely';

/**
 * What a signed receipt (beyond §5) says and no row said yet: who was named to the person. It is signed when it is
 * first asked for, and kept with the execution; its disclosures stand with the content, so that they go with it.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  for (const column of ['destination', 'signed_receipt', 'receipt_kid']) {
    await db.schema.alterTable('executions').addColumn(column, 'text').execute();
  }
  await db.schema.alterTable('submissions').addColumn('disclosures', 'text').execute();
}
