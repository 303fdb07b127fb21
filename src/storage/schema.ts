/** The tables, as queries see them; each lives with its owner. Times are ISO 8601 text, UTC, or milliseconds (`…_ms`). */
import type { ConfirmationTables } from './confirmation-schema.ts';
import type { OperatorTables } from './operator-schema.ts';
import type { SubscriberTables } from './subscriber-schema.ts';

type ExecutionStatus =
  | 'asked'
  | 'executing'
  | 'submitted'
  | 'failed'
  | 'declined'
  | 'reported'
  | 'expired';

/** How the person's yes or no came (beyond §4); while it is asked, how it is to come. */
export type ConfirmedVia = 'agent' | 'client_form' | 'page' | 'page_email';

/** One row per execution: its claim, then its receipt (spec §2.3, §3; beyond §5). It holds no field values. */
export type ExecutionRow = {
  /** Also the claim's own number, by which it is settled, and what a receipt is asked for by. */
  action_id: string;
  action: string;
  client: string;
  idempotency_key: string;
  /**
   * SHA-256 of the preview token, hex: the token itself carries what the person typed. Unique: a row is
   * found and settled by it.
   */
  preview_digest: string;
  status: ExecutionStatus;
  /** When the claim, and with it the consent, was recorded; before the press, when it was asked for. */
  created_at: string;
  /** Empty where the person has not agreed. */
  confirmation_text: string;
  confirmed_via: ConfirmedVia;
  /** Who was named to the person; null of what an older version executed. */
  destination: string | null;
  /** The SD-JWT without disclosures, from the first time that it was asked for with a key to sign it (beyond §5). */
  signed_receipt: string | null;
  /** Which key signed it. */
  receipt_kid: string | null;
  /** On the database's clock, in milliseconds; see `Dialect` in `database.ts`. */
  lease_started_ms: number;
  lease_ms: number;
  /** Null while the execution is asked for or in progress. */
  settled_at: string | null;
};

/** What the version before kept of its embedded destination; an instance of it may still write there. */
export type InboxRow = {
  /** The `webhook-id` of the event. */
  event_id: string;
  type: string;
  form: string;
  /** The submission's address, for look-ups; unique among `subscriber.created`. */
  email: string;
  received_at: string;
  /** The whole event, JSON. */
  event: string;
};

/** Beyond §1, the table of statuses. */
export type SubmissionStatus = 'sending' | 'delivered' | 'waiting' | 'undelivered' | 'dismissed';

/** Why an attempt was made. */
export type AttemptBy = 'first' | 'redelivery' | 'person' | 'operator';

/** Why nothing more happens by itself, or what the operator has said of it. */
export type SubmissionReason =
  | 'rejected'
  | 'attempts_used_up'
  | 'redelivery_off'
  | 'execution_failed'
  /** Sent while the store was away: it is never sent again. */
  | 'sent_unkept'
  | 'spam'
  | 'answered'
  | 'other';

/** One row per submission: embedded inbox, and record of what was forwarded (beyond §1). */
export type SubmissionRow = {
  /** The `webhook-id` of its event, and a person's reference; of an execution, its `action_id`. */
  id: string;
  form: string;
  origin: 'browser' | 'agent';
  /** For look-ups; null once the content is gone. */
  email: string | null;
  /** The digits of the telephone number, for look-ups; null where there is none, and once the content is gone. */
  telephone: string | null;
  /** The address, in the one row that the embedded inbox keeps for a subscriber; unique. */
  subscriber: string | null;
  /** Whose subscription or event this is; null of all that is no subscriber's (beyond §6). */
  subscriber_id: string | null;
  /** By the database's wall clock, as all of its `…_ms` but those of the lease. */
  received_ms: number;
  /** The body of the event, byte for byte as it is sent; its `fields` are `{}` once the content is gone. */
  event: string;
  /** Those of a signed receipt, with `~` between them; null where there is none, and once the content is gone. */
  disclosures: string | null;
  /** Of form and fields; null once the content is gone, and of an execution. */
  fields_digest: string | null;
  status: SubmissionStatus;
  status_since_ms: number;
  reason: SubmissionReason | null;
  /** 1: the embedded inbox confirmed it, and nothing deletes it by itself. */
  stored_here: 0 | 1;
  /** A line of JSON for each attempt that has ended: see `Attempt` in `submissions/attempts.ts`. */
  attempts: string;
  /** Of the attempt under way or the last one: the fence, by which it is settled. */
  attempt_number: number;
  attempt_by: AttemptBy;
  /** What the row was before the attempt under way; null in its first one. */
  resumed_status: SubmissionStatus | null;
  /** On the clock that judges leases; null of an execution, whose own lease holds. */
  lease_started_ms: number | null;
  lease_ms: number | null;
  /** How many redeliveries there were; null unless the row waits, or is attempted once more. */
  step: number | null;
  /** Null unless it waits, or is attempted once more. */
  next_attempt_ms: number | null;
  /** When the operator asked for it to be sent again; null otherwise. */
  resend_asked_ms: number | null;
};

/** What a message is: what it says, to whom, and what its key stands for. */
export type MessageKind =
  /** The code for a person's own page; the key is the confirmation's id and the code's number (beyond §4). */
  | 'code'
  /** To a subscriber; the key is the mailbox, and the row its 24-hour cap (contract §4). */
  | 'confirmation'
  /** To the operator, of one submission; the key is its id (beyond §2). */
  | 'notice'
  /** To the operator, of those that an hour had no room for; the key is when it began. */
  | 'notice_summary'
  /** To the operator, of a fault or of its end; the key is the kind of fault and when. */
  | 'alert';

/** One row per message that is to be sent, or was sent lately. */
export type MessageRow = {
  kind: MessageKind;
  key: string;
  /** Null where a setting says who gets it, when it is sent. */
  address: string | null;
  /** What is told where no other table has it, JSON without personal data: see `notices/`. */
  about: string | null;
  /** Less comes first: 0 what somebody waits for on a page, 1 to a subscriber, 2 to the operator. */
  priority: 0 | 1 | 2;
  message_id: string;
  /** `new`: a notice that has no place in an hour yet. */
  status: 'new' | 'pending' | 'sent' | 'dead';
  requested_at: string;
  attempts: number;
  next_attempt_at: string;
  /** Null until the first attempt; the budget of `MAIL_PER_MINUTE` counts by it. */
  last_attempt_at: string | null;
  /** When it was taken, on the clock that judges leases; null until the first attempt. */
  attempt_started_ms: number | null;
};

/** Beyond §2, the kinds of alert. */
export type AlertKind =
  | 'upstream'
  | 'given_up'
  | 'dead_message'
  | 'store'
  | 'disk'
  | 'reported'
  | 'expiring';

/** The hour of the notices, and that of each kind of alert: a row for each, always there (beyond §2). */
export type MailHourRow = {
  kind: 'notice' | AlertKind;
  /** Null while none runs. */
  began_at: string | null;
  /** Notices that were sent in it; 0 of an alert. */
  sent: number;
  /** How many were counted in it, JSON: notices by form, what an alert is about as `times`. */
  counted: string;
  /** 1: the fault of an alert has not ended. */
  lasts: 0 | 1;
  /** The alert whose all-clear is not said yet; null where none is. */
  alert_key: string | null;
  /** What expires was told up to here, by the wall clock of the database. */
  looked_until_ms: number | null;
};

/** What the version before kept instead of `messages`; an instance of it may still write there. */
type OutboxRow = Pick<
  MessageRow,
  | 'message_id'
  | 'requested_at'
  | 'attempts'
  | 'next_attempt_at'
  | 'last_attempt_at'
  | 'attempt_started_ms'
> & { mailbox: string; address: string; status: 'pending' | 'sent' | 'dead' };

export type Schema = ConfirmationTables &
  OperatorTables &
  SubscriberTables & {
    executions: ExecutionRow;
    submissions: SubmissionRow;
    inbox: InboxRow;
    messages: MessageRow;
    mail_hours: MailHourRow;
    outbox: OutboxRow;
  };
