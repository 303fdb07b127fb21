import { type Kysely, sql } from 'kysely';
import type { Storage } from '../database.ts';

/** Makes all tables. The types in `schema.ts` explain their columns. */
export async function up(db: Kysely<unknown>, kind: Storage['kind']): Promise<void> {
  const statements = [
    ...executions(kind),
    ...confirmations,
    ...submissions(kind),
    ...subscribers(kind),
    ...messages,
    ...operator,
    ...oauth,
    ...others,
  ];
  for (const statement of statements) await sql.raw(statement).execute(db);
}

/**
 * The table has no primary key, because a third index over ids in random order adds a third to the data of a commit.
 * Queries find a row by the client's key or by the preview. The index by `action_id` only grows at its end.
 */
function executions(kind: Storage['kind']): string[] {
  return [
    `create table executions (
      action_id text not null, action text not null,
      client text not null, idempotency_key text not null,
      preview_digest text not null unique,
      status text not null, created_at text not null,
      confirmation_text text not null, confirmed_via text not null, destination text not null,
      sandbox integer not null,
      signed_receipt text, receipt_kid text,
      lease_started_ms double precision not null, lease_ms integer not null,
      settled_at text,
      constraint executions_client_key unique (client, idempotency_key))`,
    'create index executions_action on executions (action_id)',
    'create index executions_created_at on executions (created_at)',
    'create index executions_sandbox on executions (created_at) where sandbox = 1',
    `create index executions_in_progress on executions (lease_started_ms) where status = 'executing'`,
    // Logical replication identifies a row by this index.
    ...(kind === 'postgres'
      ? ['alter table executions replica identity using index executions_preview_digest_key']
      : []),
  ];
}

/** A row of `executions` with the status `asked` has a row here, with the same id (reference §6.2). */
const confirmations = [
  `create table confirmations (
    id text primary key,
    client text not null, action text not null, via text not null, destination text not null,
    secret_digest text not null, mailbox_digest text not null,
    created_at text not null, expires_at text not null, sandbox integer not null,
    fields text, email text,
    code_number integer not null, code_expires_at text, wrong_codes integer not null,
    press_id text)`,
  'create unique index confirmations_secret on confirmations (secret_digest)',
  'create index confirmations_created_at on confirmations (created_at, id)',
  'create index confirmations_pending on confirmations (client, created_at) where fields is not null',
  'create index confirmations_due on confirmations (expires_at) where fields is not null',
  'create index confirmations_sandbox on confirmations (created_at) where sandbox = 1 and fields is not null',
  'create index confirmations_email on confirmations (email) where email is not null',
  `create table confirmation_codes (
    id text not null, number integer not null,
    client text not null, mailbox_digest text not null, asked_at text not null,
    constraint confirmation_codes_id_number primary key (id, number))`,
  'create index confirmation_codes_asked_at on confirmation_codes (asked_at)',
  `create table confirmation_reports (
    client text not null, mailbox_digest text not null, reported_at text not null, seen integer not null,
    sandbox integer not null,
    constraint confirmation_reports_key primary key (client, mailbox_digest))`,
  `create table mailbox_key (
    id integer primary key, secret text not null)`,
];

/**
 * An index that few rows need is partial, so that an insert of a new lead costs no more. The console reads the index
 * `submissions_listed` from its end. This index contains the columns for filters and search, because reading the row
 * would take longer than the rest of a query. It does not contain the status, which changes with each attempt: every
 * change would write the entry again, with its text. PostgreSQL limits the size of an index entry, so there a search
 * for words reads the table, with several workers.
 */
function submissions(kind: Storage['kind']): string[] {
  // With `collate "C"`, PostgreSQL compares bytes, whatever the collation of the database.
  const [searchText, listed] =
    kind === 'postgres'
      ? ['text collate "C"', 'received_ms, id, form, progress, client']
      : ['text', 'received_ms, id, form, progress, client, search_text'];
  return [
    `create table submissions (
      id text primary key,
      form text not null, origin text not null, client text, email text, search_text ${searchText},
      progress text not null, note text,
      subscriber text, subscriber_id text,
      received_ms double precision not null,
      event text not null, disclosures text, fields_digest text,
      status text not null, status_since_ms double precision not null, reason text, stored_here integer not null,
      attempts text not null, attempt_number integer not null, attempt_by text not null, resumed_status text,
      lease_started_ms double precision, lease_ms integer,
      step integer, next_attempt_ms double precision, resend_asked_ms double precision)`,
    `create index submissions_listed on submissions (${listed})`,
    `create index submissions_progress on submissions (progress, received_ms, id, form) where form <> 'newsletter'`,
    'create index submissions_email on submissions (email, received_ms, id)',
    `create index submissions_open on submissions (status, received_ms, id, origin)
      where status in ('waiting', 'undelivered')`,
    `create unique index submissions_subscriber on submissions (subscriber)
      where subscriber is not null`,
    `create index submissions_subscriber_id on submissions (subscriber_id, received_ms)
      where subscriber_id is not null`,
    `create index submissions_dismissed on submissions (received_ms, id) where status = 'dismissed'`,
    `create index submissions_due on submissions (next_attempt_ms) where status = 'waiting'`,
    `create index submissions_under_way on submissions (received_ms, id) where status = 'sending'`,
    'create index submissions_sent_again on submissions (fields_digest) where step is not null',
    `create index submissions_asked_for on submissions (resend_asked_ms)
      where resend_asked_ms is not null`,
    `create index submissions_content_ends on submissions (status, status_since_ms)
      where status <> 'sending' and stored_here = 0 and email is not null`,
    `create index submissions_row_ends on submissions (status, status_since_ms)
      where stored_here = 0 and email is null`,
  ];
}

/** The list of subscribers searches prefixes of addresses, so the addresses sort by their bytes on both databases. */
function subscribers(kind: Storage['kind']): string[] {
  const text = kind === 'postgres' ? 'text collate "C"' : 'text';
  return [
    `create table subscribers (
      id text primary key,
      email ${text} not null, contractor text not null, status text not null, made_by text not null,
      confirm_token text not null, leave_token text not null,
      created_at text not null, consent_recorded_at text not null,
      expires_at text, confirmed_at text, unsubscribed_at text)`,
    'create unique index subscribers_email on subscribers (email)',
    'create unique index subscribers_confirm_token on subscribers (confirm_token)',
    'create unique index subscribers_leave_token on subscribers (leave_token)',
    'create index subscribers_status_id on subscribers (status, id)',
    'create index subscribers_status_email on subscribers (status, email)',
    'create index subscribers_due on subscribers (expires_at) where expires_at is not null',
  ];
}

/** All rows of `mail_hours` exist from the start, so that a process can lock the row that it changes. */
const messages = [
  `create table messages (
    kind text not null, key text not null,
    address text, about text, priority integer not null,
    message_id text not null, status text not null, requested_at text not null,
    attempts integer not null, next_attempt_at text not null,
    last_attempt_at text, attempt_started_ms double precision, reply text, sealed_secret text,
    constraint messages_kind_key primary key (kind, key))`,
  'create index messages_due on messages (status, priority, next_attempt_at)',
  `create index messages_dead on messages (requested_at, message_id) where status = 'dead'`,
  `create table mail_hours (
    kind text primary key, began_at text, sent integer not null, counted text not null,
    lasts integer not null, alert_key text, looked_until_ms double precision)`,
  `insert into mail_hours (kind, sent, counted, lasts) values
    ('notice', 0, '{}', 0), ('upstream', 0, '{}', 0), ('given_up', 0, '{}', 0), ('dead_message', 0, '{}', 0),
    ('store', 0, '{}', 0), ('disk', 0, '{}', 0), ('reported', 0, '{}', 0), ('expiring', 0, '{}', 0)`,
];

const operator = [
  `create table operator_links (
    digest text primary key, name text not null, mailed integer not null, message text, page text,
    created_at text not null, expires_at text not null, used_at text)`,
  `create table operator_sessions (
    digest text primary key, name text not null, mailed integer not null,
    signed_in_at text not null, last_seen_at text not null, result text, undo text)`,
  `create table operator_audit (
    id text primary key, at text not null,
    name text not null, what text not null, about text not null)`,
  'create index operator_audit_at on operator_audit (at, id)',
];

const oauth = [
  `create table oauth_connections (
    id text primary key,
    client text not null, client_id text not null, host text not null,
    redirect_uri text not null, scope text not null, credential text,
    code_digest text not null unique, code_expires_at text not null, challenge text not null,
    family_digest text unique, refresh_digest text, refresh_expires_at text,
    connected_at text, last_used_at text)`,
  'create index oauth_connections_unused on oauth_connections (code_expires_at) where family_digest is null',
  `create table oauth_access_tokens (
    digest text primary key, connection text not null, scope text not null, expires_at text not null)`,
  'create index oauth_access_tokens_connection on oauth_access_tokens (connection)',
];

const others = [
  `create table sandbox_contents (
    id text primary key, email text, event text not null, disclosures text)`,
  'create index sandbox_contents_email on sandbox_contents (email)',
  `create table scrub_requests (
    id text primary key, due_ms double precision not null)`,
  `create table honeypot_counts (
    day text not null, form text not null, times integer not null,
    constraint honeypot_counts_key primary key (day, form))`,
];
