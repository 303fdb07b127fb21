/** Everything that a run observed: answers to clients, deliveries and faults. */
export type Moment = { at: number; what: string };

/** One idempotency key of one preview, from the client's view. */
export type Key = {
  key: string;
  final: 'submitted' | 'failed' | 'alreadyUsed' | 'expired' | undefined;
  /** All different receipts that were returned for the key, as text. There must be at most one receipt. */
  receipts: Set<string>;
  /** Number of answers with 200 that were no replay. There must be at most one such answer. */
  firstAnswers: number;
  replays: number;
};

export type Preview = {
  marker: string;
  action: string;
  client: string;
  token: string;
  obtainedAt: number;
  keys: Key[];
  timeline: Moment[];
};

/** One request that reached the upstream, whatever its result. */
export type Delivery = {
  at: number;
  webhookId: string;
  marker: string;
  type: string;
  origin: string;
  /** The browser's attempt that the delivery belongs to. */
  attempt: string;
  body: string;
  /** The upstream's action, and the status of its answer. The status 0 means that it sent no answer. */
  fate: string;
  status: number;
};

/** One request of a browser. */
export type FormAttempt = {
  path: '/api/leads' | '/api/subscribe';
  marker: string;
  email: string;
  from: number;
  to: number;
  /** Status of the answer, or 0 if the connection ended without an answer. */
  status: number;
  /** The statement about the submission in a 502 of the service. */
  sentence: 'kept' | 'left' | 'unsent' | 'unconfirmed' | undefined;
  /** Value of the header `Submission-Reference`. */
  reference: string | undefined;
};

/** A message that the server accepted, and the instance that sent it. */
export type Mail = { at: number; address: string; messageId: string; sender: string };

export type Fault = { name: string; target: string; from: number; to: number };

/** Previews of one address in one window, with the numbers of accepted and refused previews. */
type Window = {
  from: number;
  to: number;
  sent: number;
  accepted: number;
  refused: number;
  timeline: Moment[];
};

export type Violation = { rule: string; detail: string; from: number; to: number; trace: string[] };

export type Ledger = {
  startedAt: number;
  previews: Map<string, Preview>;
  deliveries: Delivery[];
  attempts: FormAttempt[];
  mails: Mail[];
  faults: Fault[];
  windows: Window[];
  violations: Violation[];
  requests: number;
  /** Number of times that each answer was given, by route and status. */
  answers: Map<string, number>;
};

/** Opens an empty ledger. The ledger's clock starts now. */
export function openLedger(): Ledger {
  return {
    startedAt: performance.now(),
    previews: new Map(),
    deliveries: [],
    attempts: [],
    mails: [],
    faults: [],
    windows: [],
    violations: [],
    requests: 0,
    answers: new Map(),
  };
}

/** Returns the milliseconds since the ledger was opened. */
export function now(ledger: Ledger): number {
  return performance.now() - ledger.startedAt;
}

/** Records a fault that begins. The returned function records its end. */
export function beginFault(ledger: Ledger, name: string, target = ''): () => void {
  const fault: Fault = { name, target, from: now(ledger), to: Number.POSITIVE_INFINITY };
  ledger.faults.push(fault);
  return () => {
    fault.to = now(ledger);
  };
}

/** Records a violation. The violation's trace comes from the timeline. */
export function report(
  ledger: Ledger,
  rule: string,
  detail: string,
  about?: { marker?: string; timeline: Moment[] },
): void {
  const at = now(ledger);
  const from = about?.timeline[0]?.at ?? at;
  const trace = about === undefined ? [] : traceOf(ledger, about);
  ledger.violations.push({ rule, detail, from, to: at, trace });
}

/** Matches faults of a single request. A trace already shows such a fault as the fate of its delivery. */
const OF_ONE_REQUEST = /^upstream (answers|acts|resets before)/;

/** Returns a timeline with the deliveries of its preview and the faults of the same time. */
function traceOf(ledger: Ledger, about: { marker?: string; timeline: Moment[] }): string[] {
  const own = [
    ...about.timeline,
    ...ledger.deliveries
      .filter(({ marker }) => marker === about.marker)
      .map(({ at, webhookId, fate }) => ({ at, what: `DELIVERED ${webhookId}: ${fate}` })),
  ].sort((a, b) => a.at - b.at);
  const from = own[0]?.at ?? 0;
  const to = own.at(-1)?.at ?? 0;
  const faults = ledger.faults
    .filter(({ name, from: began, to: healed }) => {
      return healed >= from - 1_000 && began <= to && !OF_ONE_REQUEST.test(name);
    })
    .map((fault) => ({
      at: fault.from,
      what: `  fault: ${fault.name} ${fault.target} (until ${seconds(fault.to)})`,
    }));
  return [...own, ...faults].sort((a, b) => a.at - b.at).map(({ at, what }) => `${seconds(at)} ${what}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)}s`;
}
