/** Everything that was seen in one run, and the trace that tells it. */
import type { Outcome } from '../src/upstream/upstream.ts';
import type { Scheduler } from './scheduler.ts';

/** One idempotency key of one preview, as its client sees it. */
export type Key = {
  client: string;
  key: string;
  action: string;
  token: string;
  /** The last answer that may be final: `refused` is, once the faults have stopped. */
  answer: 'submitted' | 'failed' | 'alreadyUsed' | 'refused' | undefined;
  /** Every receipt that was answered, as text: one at most. */
  receipts: Set<string>;
  /** The same of every signed one. */
  signed: Set<string>;
  /** Whether it was also used with the preview of another. */
  crossed: boolean;
};

/** A process, as far as a promise depends on how it fared. */
type Sender = {
  name: string;
  isAlive(): boolean;
  leftInOrder(): boolean;
  stoppedMs(): number;
  hinderedAt(): number;
};

export type Mail = {
  messageId: string;
  address: string;
  at: number;
  sender: Sender;
  /** How long the sender had been stopped before. */
  stoppedMs: number;
  excused: boolean;
};

/** One execution as it was asked for and answered; `receiptOf` names the execution of its receipt. */
export type Asked = {
  client: string;
  key: string;
  action: string;
  token: unknown;
  at: number;
  answer: string;
  receiptOf: string | undefined;
};

/** What a person who sent a form was told. */
export type Told = {
  mark: string;
  answer: 'accepted' | 'kept' | 'left' | 'unconfirmed' | 'unsent';
  /** Under which it is kept, where they are told. */
  reference: string | undefined;
  /** Whether a message was asked for as well. */
  subscribed: boolean;
  /** When they asked, and when they had the answer. */
  at: number;
  toldAt: number;
  /** When the process that told them had last had an answer of the store. */
  reachedAt: number;
  /** Whether they had not asked before. */
  isFirst: boolean;
};

/** What a process has learned of a submission from its destination. */
/** `askedAt`: when the attempt began of which this is the end. */
export type Learned = {
  id: string;
  outcome: Outcome;
  process: Sender;
  askedAt: number;
  at: number;
};

export type Ledger = {
  /** How often the destination has read an event, by its id. */
  deliveries: Map<string, number>;
  /** How often it has read one preview or one form, by the mark that is in no other. */
  deliveredFor: Map<string, number>;
  /** The executions that were answered with 200 and not held against the deliveries yet. */
  confirmed: Set<string>;
  keys: Key[];
  mails: Mail[];
  /** What is not held against the store and the deliveries yet. */
  asked: Asked[];
  told: Told[];
  /** The body of each delivery, by the event's id. */
  bodies: Map<string, string>;
  /** The address of each form that was sent, by its mark. */
  addresses: Map<string, string>;
  /** Whether the operator has had rows sent again, or dismissed one. */
  isTouched: boolean;
  /** When the sender of a form has last asked, by its mark. */
  askedAt: Map<string, number>;
  /** Forms whose sender was told that nothing was sent. */
  unsent: Set<string>;
  /** Forms of which a request got no answer: it may not have ended. */
  unanswered: Set<string>;
  /** What was sent while the store was away, by the event's id and by its mark. */
  unkept: Set<string>;
  /** The last that the processes have learned, by the event's id and by its mark. */
  learned: Map<string, Learned>;
  /** Of which a process has learned that they were confirmed, by id and by mark. */
  everConfirmed: Set<string>;
  /** Messages that the mail server refused for good, and the mailbox of each. */
  refused: Map<string, string>;
  /** Mailboxes to which a message is owed, and why; by a process, as long as it lives. */
  owed: { mailbox: string; by: Sender | undefined }[];
  /** Tokens of links that somebody has pressed. */
  pressed: Set<string>;
  /** Mailboxes of subscribers who have pressed, or whose time is over: no message is owed to them. */
  answered: Set<string>;
  /** Whether a wall clock has stepped. */
  stepped: boolean;
  /** Addresses that were erased: nothing is owed to them any more. */
  erased: Set<string>;
  /** How often each fault struck. */
  faults: Map<string, number>;
  /** How often each answer was given. */
  answers: Map<string, number>;
  violations: string[];
  trace: string[];
  /** Adds a line to the trace, made only where somebody reads it. */
  note(line: () => string): void;
  violate(promise: number, detail: string): void;
  fault(name: string, detail?: string): void;
};

/** Takes whether a trace is wanted. */
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
    asked: [],
    told: [],
    unanswered: new Set(),
    bodies: new Map(),
    addresses: new Map(),
    isTouched: false,
    askedAt: new Map(),
    unsent: new Set(),
    unkept: new Set(),
    everConfirmed: new Set(),
    learned: new Map(),
    refused: new Map(),
    owed: [],
    pressed: new Set(),
    answered: new Set(),
    stepped: false,
    erased: new Set(),
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

/** Counts one more. */
export function count(counts: Map<string, number>, name: string): number {
  const total = (counts.get(name) ?? 0) + 1;
  counts.set(name, total);
  return total;
}

/** The address without its plus-tag, as contract §4 says; not the source's own, which may be wrong. */
export function mailboxOf(address: string): string {
  return address.replace(/\+[^@]*@/, '@');
}
