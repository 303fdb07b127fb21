/** Everything that was seen in a run: what clients were told, what was delivered, which faults struck. */
export type Moment = { at: number; what: string };

/** One idempotency key of one preview, as its client sees it. */
export type Key = {
  key: string;
  final: 'submitted' | 'failed' | 'alreadyUsed' | 'expired' | undefined;
  /** Every receipt that was answered under it, as text: one at most may ever be. */
  receipts: Set<string>;
  /** Answers of 200 that were no replay: one at most. */
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

/** One request that reached the upstream, whatever became of it there. */
export type Delivery = {
  at: number;
  webhookId: string;
  marker: string;
  type: string;
  origin: string;
  /** Which attempt of a browser it was. */
  attempt: string;
  body: string;
  /** What the upstream did with it, and the status that it sent; 0: none. */
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
  /** 0: the connection ended without an answer. */
  status: number;
  /** What a 502 of the service says of what was sent. */
  sentence: 'kept' | 'left' | 'unsent' | 'unconfirmed' | undefined;
  /** `Submission-Reference`. */
  reference: string | undefined;
};

/** A message that the server took, and the instance that sent it. */
export type Mail = { at: number; address: string; messageId: string; sender: string };

export type Fault = { name: string; target: string; from: number; to: number };

/** Previews of one address in one window: how many of them were accepted. */
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
  /** How often each answer was given: route, status. */
  answers: Map<string, number>;
};

/** Opens an empty ledger; its clock starts now. */
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

/** Milliseconds since the ledger was opened. */
export function now(ledger: Ledger): number {
  return performance.now() - ledger.startedAt;
}

/** Writes down a fault that begins; call what is returned when it ends. */
export function beginFault(ledger: Ledger, name: string, target = ''): () => void {
  const fault: Fault = { name, target, from: now(ledger), to: Number.POSITIVE_INFINITY };
  ledger.faults.push(fault);
  return () => {
    fault.to = now(ledger);
  };
}

/** Writes down a violation; a timeline is its trace. */
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

/** Faults of one request each: a trace has them where they belong to it, as what became of it. */
const OF_ONE_REQUEST = /^upstream (answers|acts|resets before)/;

/** A timeline, with the deliveries of its preview and the faults that struck meanwhile. */
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
  return [...own, ...faults]
    .sort((a, b) => a.at - b.at)
    .map(({ at, what }) => `${seconds(at)} ${what}`);
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(3)}s`;
}
