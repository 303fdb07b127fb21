/** The tables of the operator's console (beyond §7); the queries live with `console/`. */

/** A way into the console that works once (beyond §7); times of the process's wall clock. */
type OperatorLinkRow = {
  /** SHA-256 of what the link ends with, hex. */
  digest: string;
  /** Whom it was made for, as `npm run operator -- link --name` was told. */
  name: string;
  created_at: string;
  expires_at: string;
  /** Null until somebody has signed in by it. */
  used_at: string | null;
};

/** Somebody who is signed in to the console, on one browser. */
export type OperatorSessionRow = {
  /** SHA-256 of the cookie's value, hex. */
  digest: string;
  name: string;
  /** When its link was made: to export and to delete that must be an hour ago at most. */
  linked_at: string;
  signed_in_at: string;
  /** Of the last request, give or take a minute. */
  last_seen_at: string;
};

/** What somebody did in the console; it holds ids, counts and names of filters, nothing that was typed. */
export type OperatorAuditRow = {
  id: string;
  at: string;
  name: string;
  /** See `console/audit.ts`. */
  what: string;
  /** JSON. */
  about: string;
};

export type OperatorTables = {
  operator_links: OperatorLinkRow;
  operator_sessions: OperatorSessionRow;
  operator_audit: OperatorAuditRow;
};
