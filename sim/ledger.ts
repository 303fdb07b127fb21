/** Everything that was seen in one run, and the trace that tells it. */
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
  /** Whether it was also used with the preview of another. */
  crossed: boolean;
};

export type Mail = { messageId: string; address: string; excused: boolean };

export type Ledger = {
  /** How often the destination has read an event, by its id. */
  deliveries: Map<string, number>;
  /** How often it has read what one preview confirmed, by the address that is in no other preview. */
  deliveredFor: Map<string, number>;
  /** The executions that were answered with 200 and not held against the deliveries yet. */
  confirmed: Set<string>;
  keys: Key[];
  mails: Mail[];
  /** Addresses whose subscription was answered as accepted, and was new. */
  owed: Set<string>;
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
    owed: new Set(),
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
