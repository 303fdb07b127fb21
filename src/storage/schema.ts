/** Types of all tables. Times are ISO 8601 text in UTC, or milliseconds (`…_ms`). */
import type { OauthTables } from './oauth-schema.ts';
import type { OperationTables } from './operation-schema.ts';

type ExecutionStatus = 'asked' | 'executing' | 'submitted' | 'failed' | 'declined' | 'reported' | 'expired';

/** The way in which the person answers (reference §6.1). */
export type ConfirmedVia = 'agent' | 'client_form' | 'page' | 'page_email';

/** An execution: its claim, then its receipt (reference §5.9, §5.10, §7.2). It holds no field values. */
export type ExecutionRow = {
  /** Id of the claim and of the receipt. The holder of the claim settles it by this id. */
  action_id: string;
  action: string;
  client: string;
  idempotency_key: string;
  /** SHA-256 of the preview token, in hex. Unique. The token itself contains what the person typed. */
  preview_digest: string;
  status: ExecutionStatus;
  /** Time of the claim and of the consent. While the status is `asked`, the time of the request. */
  created_at: string;
  /** Empty if the person has not agreed. */
  confirmation_text: string;
  confirmed_via: ConfirmedVia;
  /** Name of the contractor that the person saw. */
  destination: string;
  /** 1 if the client is a sandbox client (reference §27). */
  sandbox: 0 | 1;
  /** The SD-JWT without disclosures, from its first signing on (reference §7.2). */
  signed_receipt: string | null;
  /** Id of the key that signed the receipt. */
  receipt_kid: string | null;
  /** Milliseconds on the database's clock (`Dialect.leaseClock`). */
  lease_started_ms: number;
  lease_ms: number;
  /** Null while the status is `asked` or `executing`. */
  settled_at: string | null;
};

/** Data of the confirmation page, beside the row of the execution (reference §6.2). */
export type ConfirmationRow = {
  /** The `action_id`. */
  id: string;
  client: string;
  action: string;
  via: 'page' | 'page_email';
  /** Name of the recipient that agent and person see. */
  destination: string;
  /** SHA-256 of the secret in the page's address, in hex. */
  secret_digest: string;
  /** Keyed digest (`confirmations/mailbox.ts`). */
  mailbox_digest: string;
  created_at: string;
  expires_at: string;
  /** 1 if the client that requested it is a sandbox client (reference §27). */
  sandbox: 0 | 1;
  /** The fields to send, as JSON. Null once the confirmation is answered or has ended. */
  fields: string | null;
  /** Address of the person, for an erasure. Null if `fields` is null. */
  email: string | null;
  /** Number of codes that were sent. The current code derives from it. */
  code_number: number;
  /** Expiry of the last code, or null. */
  code_expires_at: string | null;
  /** Number of wrong entries over all codes. */
  wrong_codes: number;
  /** Id of the click that claimed the confirmation. Two clicks have the same `action_id`. */
  press_id: string | null;
};

/** A code that was sent. A row lives for a day, because the codes of a mailbox are limited (reference §6.13). */
type ConfirmationCodeRow = Pick<ConfirmationRow, 'id' | 'client' | 'mailbox_digest'> & {
  number: number;
  asked_at: string;
};

/** A report. The service sends nothing more of this client for this mailbox (reference §6.14). */
type ConfirmationReportRow = Pick<ConfirmationRow, 'client' | 'mailbox_digest' | 'sandbox'> & {
  reported_at: string;
  /** 1 once an operator has marked the report as seen. */
  seen: 0 | 1;
};

/** Status of a submission (the table of reference §10.5). */
export type SubmissionStatus = 'sending' | 'delivered' | 'waiting' | 'undelivered' | 'dismissed';

/** Progress of the operator's work on a submission. It is independent of the status (reference §12.14). */
export type Progress = 'new' | 'answered' | 'won' | 'lost' | 'spam';

/** The cause of an attempt. */
export type AttemptBy = 'first' | 'redelivery' | 'person' | 'operator';

/** Reason why the service does not retry a submission, or why the operator dismissed the submission. */
export type SubmissionReason =
  | 'rejected'
  | 'attempts_used_up'
  | 'redelivery_off'
  | 'execution_failed'
  /** The submission was sent while the store was unavailable. It is never sent again. */
  | 'sent_unkept'
  | 'spam'
  | 'answered'
  | 'other';

/** A submission in the embedded inbox, or the record of a forwarded submission (reference §10.5). */
export type SubmissionRow = {
  /** The `webhook-id` of the event, and the reference for the person. For an execution it is the `action_id`. */
  id: string;
  form: string;
  origin: 'browser' | 'agent';
  /** Name of the client that executed. Null for a browser. */
  client: string | null;
  progress: Progress;
  /** The operator's note. Null without a note, or if the content is deleted. */
  note: string | null;
  /** Address of the sender. Null once the content is deleted, like `search_text` and `fields_digest`. */
  email: string | null;
  /** Folded text of everything that a search covers (`submissions/submission.ts`). */
  search_text: string | null;
  /** Address of the subscriber, only in the subscriber's one row of the embedded inbox. Unique. */
  subscriber: string | null;
  /** Id of the subscriber that the event is about, or null (reference §9.3). */
  subscriber_id: string | null;
  /** Time of receipt on the database's wall clock, like every `…_ms` column except the columns of the lease. */
  received_ms: number;
  /** The body of the event, byte for byte. Its `fields` are `{}` once the content is deleted. */
  event: string;
  /** Disclosures of a signed receipt, separated by `~`. Null without a signed receipt, or if the content is deleted. */
  disclosures: string | null;
  /** Digest of form and fields. Null for an execution. */
  fields_digest: string | null;
  status: SubmissionStatus;
  status_since_ms: number;
  reason: SubmissionReason | null;
  /** 1 if the embedded inbox confirmed the submission. The service never deletes such a row automatically. */
  stored_here: 0 | 1;
  /** A line of JSON for each attempt that has ended (`Attempt` in `submissions/attempts.ts`). */
  attempts: string;
  /** The fence: number of the current or last attempt. Settling the attempt requires this number. */
  attempt_number: number;
  attempt_by: AttemptBy;
  /** Status before the current attempt. Null in the first attempt. */
  resumed_status: SubmissionStatus | null;
  /** Start of the lease on the lease clock. Null for an execution, which has a lease in its own row. */
  lease_started_ms: number | null;
  lease_ms: number | null;
  /** Number of redeliveries. Null unless the row waits or is attempted again. `next_attempt_ms` is null likewise. */
  step: number | null;
  next_attempt_ms: number | null;
  /** Time of the operator's request to resend the submission, or null. */
  resend_asked_ms: number | null;
};

/** Status of a subscriber (reference §9.2). */
export type SubscriberStatus = 'pending' | 'confirmed' | 'unsubscribed';

/** An address that `/api/subscribe` got (reference §9.2). Times are on the process's wall clock. */
export type SubscriberRow = {
  id: string;
  email: string;
  /** Slug of the originating site (reference §2.8). */
  contractor: string;
  status: SubscriberStatus;
  /** Id of the submission whose commit made the row. */
  made_by: string;
  /** Both tokens are stored as plain text. Messages and events contain them, and they only confirm or unsubscribe. */
  confirm_token: string;
  leave_token: string;
  created_at: string;
  consent_recorded_at: string;
  /** Expiry of the links of a pending subscriber, otherwise null. */
  expires_at: string | null;
  confirmed_at: string | null;
  unsubscribed_at: string | null;
};

/** Content of an execution of a sandbox client, for its receipt. The row is deleted with the execution. */
type SandboxContentRow = Pick<SubmissionRow, 'event' | 'disclosures'> & {
  /** The `action_id`. */
  id: string;
  email: string | null;
};

export type Schema = OperationTables &
  OauthTables & {
    confirmation_codes: ConfirmationCodeRow;
    confirmation_reports: ConfirmationReportRow;
    confirmations: ConfirmationRow;
    executions: ExecutionRow;
    /** The key of the mailboxes' digests, in base64 (`confirmations/mailbox.ts`). At most one row. */
    mailbox_key: { id: number; secret: string };
    sandbox_contents: SandboxContentRow;
    submissions: SubmissionRow;
    subscribers: SubscriberRow;
  };

/** All tables of the service, and the tables in which Kysely records the migrations. */
export const tables = [
  'confirmation_codes',
  'confirmation_reports',
  'confirmations',
  'executions',
  'honeypot_counts',
  'kysely_migration',
  'kysely_migration_lock',
  'mail_hours',
  'mailbox_key',
  'messages',
  'oauth_access_tokens',
  'oauth_connections',
  'operator_audit',
  'operator_links',
  'operator_sessions',
  'sandbox_contents',
  'scrub_requests',
  'submissions',
  'subscribers',
] as const satisfies (keyof Schema | `kysely_${string}`)[];

/** Tables by which an operator is signed in. */
export const signInTables = ['operator_links', 'operator_sessions'] as const satisfies (typeof tables)[number][];

/**
 * Tables that a restore leaves empty, because some of their rows were ended or used after the copy was made (reference
 * §19.9).
 */
export const notRestoredTables = [
  ...signInTables,
  'oauth_access_tokens',
  'oauth_connections',
] as const satisfies (typeof tables)[number][];
