/** The tables of a person's own confirmation (beyond §4), beside the rows of executions. */

/** What the person's own page needs beside the row of the execution (beyond §4). */
export type ConfirmationRow = {
  /** The `action_id`. */
  id: string;
  client: string;
  action: string;
  via: 'page' | 'page_email';
  /** Who was named to the agent, and is named to the person. */
  destination: string;
  /** SHA-256 of the secret in the page's address, hex. */
  secret_digest: string;
  /** A keyed digest: see `actions/mailbox.ts`. */
  mailbox_digest: string;
  created_at: string;
  expires_at: string;
  /** What would be sent, JSON; null once it has ended or was pressed. */
  fields: string | null;
  /** For erasure; null with the fields. */
  email: string | null;
  /** How many codes were mailed; the code is made of this number. */
  code_number: number;
  /** Of the last one; null where there was none. */
  code_expires_at: string | null;
  /** Over all codes. */
  wrong_codes: number;
  /** Of the press that has won: two of them have the same `action_id`. */
  press_id: string | null;
};

/** A row for each code that was mailed, for a day: so many go to a mailbox (beyond §4). */
type ConfirmationCodeRow = Pick<ConfirmationRow, 'id' | 'client' | 'mailbox_digest'> & {
  number: number;
  asked_at: string;
};

/** The person did not ask for this: nothing of this client is sent for this mailbox (beyond §4). */
export type ConfirmationReportRow = Pick<ConfirmationRow, 'client' | 'mailbox_digest'> & {
  reported_at: string;
};

/** The key of the mailboxes' digests, wrapped by a signing key: see `actions/mailbox.ts`. */
export type MailboxKeyRow = {
  /** What is derived of the signing key, hex. */
  signing_key: string;
  /** AES-256-GCM: nonce, key and tag, base64. */
  wrapped: string;
};

export type ConfirmationTables = {
  confirmations: ConfirmationRow;
  confirmation_codes: ConfirmationCodeRow;
  confirmation_reports: ConfirmationReportRow;
  mailbox_keys: MailboxKeyRow;
};
