/** Types of the tables for e-mails, operators and maintenance. `schema.ts` has the types of the other tables. */

/** Kind of a message. The kind decides the text, the recipient and the meaning of the key. */
export type MessageKind =
  /** Code for a confirmation page. The key is the confirmation's id and the code's number (reference §6.13). */
  | 'code'
  /** Sign-in link for an operator of `OPERATORS`. The key is a new id, `about` the page to return to (§12.16). */
  | 'sign_in'
  /** Message to a subscriber. The key is the mailbox, which gets at most one such message in 24 h (reference §9.4). */
  | 'confirmation'
  /** Message to the operator about one submission. The key is the id of the submission (reference §11.5). */
  | 'notice'
  /** Notice to the contractor about a submission that they receive. The key is the id of the submission. */
  | 'contractor_notice'
  /** Message to the operator about the submissions beyond the limit of an hour. The key is the start of the hour. */
  | 'notice_summary'
  /** Message to the operator about a fault or its end. The key is the kind of fault and its time. */
  | 'alert'
  /**
   * Message to a person whose form has arrived. The key is the mailbox, which gets at most one such message in 24 h, and
   * `about` is the id of the submission (reference §11.8).
   */
  | 'acknowledgement';

/** An e-mail in the outbox, or an e-mail that was sent recently. */
export type MessageRow = {
  kind: MessageKind;
  key: string;
  /** Null if a setting names the recipient at send time. */
  address: string | null;
  /** Content that no other table has, by kind: JSON without personal data, the page of a sign-in link, or an id. */
  about: string | null;
  /**
   * Secret of the confirmation page, encrypted (`confirmations/tokens.ts`). Null for every other kind than `code`, and
   * once the message is sent or has failed permanently.
   */
  sealed_secret: string | null;
  /** Lower values come first (`mail/messages.ts`). */
  priority: 0 | 1 | 2 | 3;
  message_id: string;
  /** `new`: a notice that is not assigned to an hour yet. */
  status: 'new' | 'pending' | 'sent' | 'dead';
  requested_at: string;
  attempts: number;
  next_attempt_at: string;
  /** Time of the last attempt, by which `MAIL_PER_MINUTE` counts. Null until the first attempt. */
  last_attempt_at: string | null;
  /** Time of the claim on the clock of leases. Null until the first attempt. */
  attempt_started_ms: number | null;
  /** Reply of the mail server because of which the message failed permanently (`mail/reply.ts`). Null without one. */
  reply: string | null;
};

/** The current hour of the notices, and of each kind of alert (reference §11.5). */
export type MailHourRow = {
  /** `notice`, or a kind of alert (`notices/alert-kinds.ts`). */
  kind: string;
  /** Start of the hour. Null if no hour has begun. */
  began_at: string | null;
  /** Number of messages that were sent in the hour. */
  sent: number;
  /** Counts of the hour, as JSON: notices by form, causes of an alert as `times`. */
  counted: string;
  /** 1 if the fault of an alert has not ended. */
  lasts: 0 | 1;
  /** Key of the alert whose all-clear is not sent yet, or null. */
  alert_key: string | null;
  /** Expiring submissions were reported up to this time, on the database's wall clock. */
  looked_until_ms: number | null;
};

/** A link that signs an operator in once (reference §12.2). Times are on the process's wall clock. */
export type OperatorLinkRow = {
  /** SHA-256 of the secret at the link's end, in hex. */
  digest: string;
  /** Name of the operator, as given to `npm run operator -- link --name`, or their address of `OPERATORS`. */
  name: string;
  /** 1 if the service mailed the link to an operator of `OPERATORS`, 0 if a command printed it. */
  mailed: 0 | 1;
  /** Key of the e-mail with this link. Null for a printed link. */
  message: string | null;
  /** Page of the console to which the sign-in leads, with its query. Null for the first page. */
  page: string | null;
  created_at: string;
  expires_at: string;
  /** Time of the sign-in with this link. Null until then. */
  used_at: string | null;
};

/** A browser that is signed in to the console. */
export type OperatorSessionRow = {
  /** SHA-256 of the cookie's value, in hex. */
  digest: string;
  name: string;
  /** As in the link. */
  mailed: 0 | 1;
  /** Time of the sign-in. Exports, deletions and changes of clients require that it is at most an hour ago. */
  signed_in_at: string;
  /** Time of the last request, accurate to a minute. */
  last_seen_at: string;
  /** Result of the last change, which the next page shows once. Null if it was shown. */
  result: string | null;
  /** The last change of progress, as JSON (`console/undo.ts`). Null if there is nothing to undo. */
  undo: string | null;
};

/** An action in the console. The row contains ids, counts and names of filters, but no text that the operator typed. */
export type OperatorAuditRow = {
  id: string;
  at: string;
  name: string;
  /** Kind of the action (`console/audit.ts`). */
  what: string;
  /** Details of the action, as JSON. */
  about: string;
};

/** Number of submissions of a form from bots on a day (reference §4.3). */
export type HoneypotCountRow = {
  /** Day in UTC, as `2026-12-01`. */
  day: string;
  form: string;
  times: number;
};

export type OperationTables = {
  honeypot_counts: HoneypotCountRow;
  mail_hours: MailHourRow;
  messages: MessageRow;
  operator_audit: OperatorAuditRow;
  operator_links: OperatorLinkRow;
  operator_sessions: OperatorSessionRow;
  /** Requests to remove the remains of an erasure from the database's files. `due_ms` is on the process's clock. */
  scrub_requests: { id: string; due_ms: number };
};
