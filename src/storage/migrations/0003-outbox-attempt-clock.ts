import type { Kysely } from 'kysely';

/** An attempt is under way by the clock that judges leases: a step of a wall clock ends none. */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema
    .alterTable('outbox')
    .addColumn('attempt_started_ms', 'double precision')
    .execute();
}
