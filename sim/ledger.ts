/** Stores everything that was observed in one run, and its trace. */
import type { Message } from '../src/mail/mail.ts';
import type { Outcome } from '../src/upstream/upstream.ts';
import type { Scheduler } from './scheduler.ts';

/** One idempotency key of one preview, from the client's view. */
export type Key = {
  client: string;
  key: string;
  action: string;
  token: string;
  /** The last answer that may be final. The answer `refused` is final once the faults have stopped. */
  answer: 'submitted' | 'failed' | 'alreadyUsed' | 'refused' | undefined;
  /** All different receipts that were returned, as text. There must be at most one receipt. */
  receipts: Set<string>;
  /** All different signed receipts that were returned. There must be at most one signed receipt. */
  signed: Set<string>;
  /** True if the key was also used with another preview. */
  crossed: boolean;
};

/** A process, with the parts of its history that the invariants depend on. */
type Sender = {
  name: string;
  isAlive(): boolean;
  drainedInOrder(): boolean;
  stoppedMs(): number;
  hinderedAt(): number;
};

export type MailKind = 'confirmation' | 'acknowledgement' | 'contractor_notice' | 'sign_in';

export type Mail = {
  messageId: string;
  address: string;
  kind: MailKind;
  message: Message;
  at: number;
  sender: Sender;
  /** Time for which the sender had been stopped before, in milliseconds. */
  stoppedMs: number;
  excused: boolean;
};

/** A connection of a host, as the host sees it. */
export type Family = {
  name: string;
  client: string;
  code: string;
  /** Number of answers with tokens, by code or refresh token. */
  used: Map<string, number>;
  refresh: string[];
  access: string[];
  /** True once an answer shows that the connection has ended. */
  isEnded: boolean;
};

/** A request to execute, and its answer. `receiptOf` is the id of the execution in the returned receipt. */
export type ExecuteAnswer = {
  client: string;
  key: string;
  action: string;
  token: unknown;
  at: number;
  answer: string;
  receiptOf: string | undefined;
};

/** The answer to a person who sent a form. */
export type FormAnswer = {
  mark: string;
  answer: 'accepted' | 'kept' | 'left' | 'unconfirmed' | 'unsent';
  /** Reference of the stored submission, if the answer contains one. */
  reference: string | undefined;
  /** True if the form was a subscription, which also needs a message. */
  subscribed: boolean;
  /** Times of the request and of the answer. */
  at: number;
  answeredAt: number;
  /** Time of the store's last answer to the process that answered the person. */
  reachedAt: number;
  /** True if the person had sent no request before. */
  isFirst: boolean;
};

/** The outcome of a submission as a process received it. `begunAt` is the time at which the attempt began. */
export type Learned = {
  id: string;
  outcome: Outcome;
  process: Sender;
  begunAt: number;
  at: number;
};

export type Ledger = {
  /** Number of times that the destination read an event, by the event's id. */
  deliveries: Map<string, number>;
  /** Number of times that the destination read one preview or form, by the mark that no other preview or form has. */
  deliveredFor: Map<string, number>;
  /** Executions that were answered with 200 and are not yet compared with the deliveries. */
  confirmed: Set<string>;
  keys: Key[];
  mails: Mail[];
  /** Answers that are not yet compared with the store and the deliveries. */
  executeAnswers: ExecuteAnswer[];
  formAnswers: FormAnswer[];
  /** Body of each delivery, by the event's id. */
  bodies: Map<string, string>;
  /** Address of each form that was sent, by its mark. */
  addresses: Map<string, string>;
  /** True if the operator has resent or dismissed a row. */
  isTouched: boolean;
  /** Time of the last request for each form, by its mark. */
  requestedAt: Map<string, number>;
  /** Forms whose last answer said that nothing was sent. */
  unsent: Set<string>;
  /** Forms with a request that got no answer. The request may still run. */
  unanswered: Set<string>;
  /** Submissions that were sent while the store was unavailable, by event id and by mark. */
  unstored: Set<string>;
  /** The last outcome that a process received, by event id and by mark. */
  learned: Map<string, Learned>;
  /** Submissions whose confirmation a process received, by event id and by mark. */
  everConfirmed: Set<string>;
  /** Messages that the mail server refused permanently, with the mailbox of each. */
  refused: Map<string, string>;
  /** Mailboxes to which a message is owed. If `by` is set, the message is owed only while that process lives. */
  owed: { mailbox: string; by: Sender | undefined }[];
  /** Tokens of links that somebody has clicked. */
  clicked: Set<string>;
  /** Mailboxes of subscribers who clicked a link, or whose row was deleted. No message is owed to them. */
  answered: Set<string>;
  /** True if a wall clock has stepped. */
  stepped: boolean;
  /** Erased addresses. No message is owed to them. */
  erased: Set<string>;
  /** True if everything about the person of `leaving.ts` was erased. */
  hasLeft: boolean;
  /** E-mails and printed names of the sign-in links that somebody clicked. `signIns` counts their successes. */
  linksUsed: Set<string>;
  signIns: Map<string, number>;
  /** Connections with OAuth. */
  families: Family[];
  /** Number of times that each fault struck. */
  faults: Map<string, number>;
  /** Number of times that each answer was given. */
  answers: Map<string, number>;
  violations: string[];
  trace: string[];
  /** Adds a line to the trace. Calls `line` only if the run records a trace. */
  note(line: () => string): void;
  violate(promise: number, detail: string): void;
  fault(name: string, detail?: string): void;
};

/** Opens an empty ledger. The ledger records a trace if `traced` is true. */
export function openLedger(scheduler: Scheduler, traced: boolean): Ledger {
  const note = (line: () => string) => {
    if (!traced) return;
    const at = (scheduler.time() / 1000).toFixed(3).padStart(9);
    ledger.trace.push(`${at} s  ${line()}`);
  };
  const ledger: Ledger = {
    deliveries: new Map(),
    deliveredFor: new Map(),
    confirmed: new Set(),
    keys: [],
    mails: [],
    executeAnswers: [],
    formAnswers: [],
    unanswered: new Set(),
    bodies: new Map(),
    addresses: new Map(),
    isTouched: false,
    requestedAt: new Map(),
    unsent: new Set(),
    unstored: new Set(),
    everConfirmed: new Set(),
    learned: new Map(),
    refused: new Map(),
    owed: [],
    clicked: new Set(),
    answered: new Set(),
    stepped: false,
    erased: new Set(),
    hasLeft: false,
    linksUsed: new Set(),
    signIns: new Map(),
    families: [],
    faults: new Map(),
    answers: new Map(),
    violations: [],
    trace: [],
    note,
    violate: (promise, detail) => {
      ledger.violations.push(`promise ${promise}: ${detail}`);
      note(() => `VIOLATED promise ${promise}: ${detail}`);
    },
    fault: (name, detail = '') => {
      count(ledger.faults, name);
      note(() => `  fault: ${name} ${detail}`);
    },
  };
  return ledger;
}

/** Increments the count of a name and returns the new count. */
export function count(counts: Map<string, number>, name: string): number {
  const total = (counts.get(name) ?? 0) + 1;
  counts.set(name, total);
  return total;
}

/**
 * Returns the address without its plus-tag (reference §2.7 rule 8). The function in `src` may be wrong, so this
 * function is independent of it.
 */
export function mailboxOf(address: string): string {
  return address.replace(/\+[^@]*@/, '@');
}
