/** The names of the tables, for what goes by them: a copy of the database, and its restoring. */
import type { Schema } from './schema.ts';

/** All of ours, and those in which Kysely keeps what a database has had. */
export const tables = [
  'confirmation_codes',
  'confirmation_reports',
  'confirmations',
  'executions',
  'inbox',
  'kysely_migration',
  'kysely_migration_lock',
  'mail_hours',
  'mailbox_keys',
  'messages',
  'operator_audit',
  'operator_links',
  'operator_sessions',
  'outbox',
  'submissions',
  'subscribers',
] as const satisfies (keyof Schema | `kysely_${string}`)[];
