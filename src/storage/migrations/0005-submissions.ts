import { type Kysely, sql } from 'kysely';
import type { Storage } from '../database.ts';

/** What is compared of a telephone number, without blanks and punctuation: `telephoneOf` in `submissions/submission.ts`. */
const telephoneDigits = {
  sqlite: sql.raw(
    `substr(replace(replace(replace(replace(replace(replace(replace(replace(event ->> '$.data.fields.phone', ' ', ''), '+', ''), '(', ''), ')', ''), '-', ''), '.', ''), '/', ''), char(160), ''), 1, 64)`,
  ),
  postgres: sql.raw(
    `left(translate(event::json #>> '{data,fields,phone}', ' +()-./' || chr(160), ''), 64)`,
  ),
};

/**
 * Every submission, kept before its first byte leaves. What the inbox holds is copied; the table itself stays
 * for instances of the version before, which may still write there during a roll. An index is partial where
 * only few rows are ever looked for by it: a lead that arrives at once costs it nothing.
 */
export async function up(db: Kysely<unknown>, kind: Storage['kind']): Promise<void> {
  await db.schema
    .createTable('submissions')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('form', 'text', (column) => column.notNull())
    .addColumn('origin', 'text', (column) => column.notNull())
    .addColumn('email', 'text')
    .addColumn('telephone', 'text')
    .addColumn('subscriber', 'text')
    .addColumn('received_ms', 'double precision', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('fields_digest', 'text')
    .addColumn('status', 'text', (column) => column.notNull())
    .addColumn('status_since_ms', 'double precision', (column) => column.notNull())
    .addColumn('reason', 'text')
    .addColumn('stored_here', 'integer', (column) => column.notNull())
    .addColumn('attempts', 'text', (column) => column.notNull())
    .addColumn('attempt_number', 'integer', (column) => column.notNull())
    .addColumn('attempt_by', 'text', (column) => column.notNull())
    .addColumn('resumed_status', 'text')
    .addColumn('lease_started_ms', 'double precision')
    .addColumn('lease_ms', 'integer')
    .addColumn('step', 'integer')
    .addColumn('next_attempt_ms', 'double precision')
    .addColumn('resend_asked_ms', 'double precision')
    .execute();
  await db.schema
    .createIndex('submissions_received')
    .on('submissions')
    .columns(['received_ms', 'id'])
    .execute();
  await sql`create index submissions_form on submissions (form, origin, received_ms, id)`.execute(
    db,
  );
  // By its bytes, whatever the database's collation: the beginning of an address is looked for as well.
  const bytes = sql.raw(kind === 'sqlite' ? '' : 'text_pattern_ops');
  await sql`create index submissions_email on submissions (email ${bytes})`.execute(db);
  await db.schema
    .createIndex('submissions_telephone')
    .on('submissions')
    .column('telephone')
    .where(sql.ref('telephone'), 'is not', sql.lit(null))
    .execute();
  await db.schema
    .createIndex('submissions_subscriber')
    .unique()
    .on('submissions')
    .column('subscriber')
    .where(sql.ref('subscriber'), 'is not', sql.lit(null))
    .execute();
  await db.schema
    .createIndex('submissions_due')
    .on('submissions')
    .column('next_attempt_ms')
    .where(sql.ref('status'), '=', sql.lit('waiting'))
    .execute();
  await db.schema
    .createIndex('submissions_under_way')
    .on('submissions')
    .column('lease_started_ms')
    .where(sql.ref('status'), '=', sql.lit('sending'))
    .execute();
  await db.schema
    .createIndex('submissions_sent_again')
    .on('submissions')
    .column('fields_digest')
    .where(sql.ref('step'), 'is not', sql.lit(null))
    .execute();
  await db.schema
    .createIndex('submissions_asked_for')
    .on('submissions')
    .column('resend_asked_ms')
    .where(sql.ref('resend_asked_ms'), 'is not', sql.lit(null))
    .execute();
  await sql`create index submissions_open on submissions (status, received_ms, id)
    where status not in ('sending', 'delivered')`.execute(db);
  await sql`create index submissions_content_ends on submissions (status, status_since_ms)
    where status <> 'sending' and stored_here = 0 and email is not null`.execute(db);
  await sql`create index submissions_row_ends on submissions (status, status_since_ms)
    where stored_here = 0 and email is null`.execute(db);

  const milliseconds =
    kind === 'sqlite'
      ? sql`unixepoch(received_at, 'subsec') * 1000`
      : sql`extract(epoch from received_at::timestamptz) * 1000`;
  const origin =
    kind === 'sqlite' ? sql`event ->> '$.data.origin'` : sql`event::json -> 'data' ->> 'origin'`;
  await sql`
    insert into submissions (id, form, origin, email, telephone, subscriber, received_ms, event, status,
      status_since_ms, stored_here, attempts, attempt_number, attempt_by)
    select event_id, form, ${origin}, email, ${telephoneDigits[kind]}, case when type = 'subscriber.created' then email end,
      ${milliseconds}, event, 'delivered', ${milliseconds}, 1, '', 0, 'first'
    from inbox order by received_at`.execute(db);
}
