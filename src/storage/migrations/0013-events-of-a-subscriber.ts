import { type Kysely, sql } from 'kysely';

/** The last events of a subscriber are a walk along one index, however often somebody entered that address (beyond §6). */
export async function up(db: Kysely<unknown>): Promise<void> {
  await db.schema.dropIndex('submissions_subscriber_id').execute();
  await sql`create index submissions_subscriber_id on submissions (subscriber_id, received_ms)
    where subscriber_id is not null`.execute(db);
}
