/**
 * The tables, as every query sees them. A query lives with its owner: executions with `actions/`,
 * the inbox with `upstream/`, the outbox with `mail/`. Times are ISO 8601 text, UTC.
 */
type ExecutionStatus = 'executing' | 'submitted' | 'failed';

/** One row per execution: its claim, then its receipt (spec §2.3, §3). It holds no field values. */
export type ExecutionRow = {
  /** Also the claim's own number, by which it is settled. No index has it: see `preview_digest`. */
  action_id: string;
  action: string;
  client: string;
  idempotency_key: string;
  /**
   * SHA-256 of the preview token, hex: the token itself carries what the person typed. Unique: a row is
   * found by it.
   */
  preview_digest: string;
  status: ExecutionStatus;
  /** When the claim, and with it the consent, was recorded. */
  created_at: string;
  confirmation_text: string;
  /** On the database's clock, in milliseconds; see `Dialect` in `database.ts`. */
  lease_started_ms: number;
  lease_ms: number;
  /** Null while the execution is in progress. */
  settled_at: string | null;
};

/** What the embedded destination holds: one row per event (contract §3). */
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

type OutboxStatus = 'pending' | 'sent' | 'dead';

/** One row per mailbox: its last confirmation message, which is also the 24-hour cap (contract §4). */
export type OutboxRow = {
  /** The address without its plus-tag. */
  mailbox: string;
  address: string;
  message_id: string;
  status: OutboxStatus;
  requested_at: string;
  attempts: number;
  next_attempt_at: string;
  /** Null until the first attempt; the budget of `MAIL_PER_MINUTE` counts by it. */
  last_attempt_at: string | null;
  /** When it was taken, on the clock that judges leases; null until the first attempt. */
  attempt_started_ms: number | null;
};

export type Schema = { executions: ExecutionRow; inbox: InboxRow; outbox: OutboxRow };
