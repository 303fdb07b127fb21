import type { Kysely } from 'kysely';

/**
 * How the person's yes came (beyond §4): through the agent, for every execution before. A receipt is asked for
 * by its `action_id`, which goes up with time, so that this index is appended to.
 */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('executions')
    .addColumn('confirmed_via', 'text', (column) => column.notNull().defaultTo('agent'))
    .execute();
  await db.schema.createIndex('executions_action').on('executions').column('action_id').execute();
}
