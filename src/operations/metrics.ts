import { forms } from '../forms/catalog.ts';
import { routes } from '../routes.ts';

/** What Prometheus reads, on a port of its own; named as OpenTelemetry's HTTP conventions translate. */
export type Metrics = {
  observeRequest(method: string, route: string, status: number, seconds: number): void;
  countIgnoredForwardedFor(): void;
  countExecution(action: string, status: string): void;
  /** What a person was asked, and what became of it (beyond §4); several at once where one ends others. */
  countConfirmation(status: (typeof CONFIRMATIONS)[number], times?: number): void;
  /** What became of subscribers (beyond §6); several at once where their time has run out. */
  countSubscriber(status: (typeof SUBSCRIBERS)[number], times?: number): void;
  /** What became of an attempt to have a submission confirmed. */
  countAttempt(outcome: (typeof OUTCOMES)[number], by: (typeof ATTEMPTED_BY)[number]): void;
  /** Waits for what is being collected: after it the store may be closed. */
  close(): Promise<void>;
};

/** Where no `METRICS_PORT` is set nothing is counted. */
export const noMetrics: Metrics = {
  observeRequest: () => {},
  countIgnoredForwardedFor: () => {},
  countExecution: () => {},
  countAttempt: () => {},
  countConfirmation: () => {},
  countSubscriber: () => {},
  close: async () => {},
};

const STATUSES = ['submitted', 'failed'] as const;
const CONFIRMATIONS = ['asked', 'submitted', 'failed', 'declined', 'reported', 'expired'] as const;
const SUBSCRIBERS = ['pending', 'confirmed', 'unsubscribed', 'expired'] as const;
const OUTCOMES = ['confirmed', 'rejected', 'rateLimited', 'unconfirmed', 'unknown'] as const;
const UNARRIVED = ['sending', 'waiting', 'undelivered'] as const;
const ATTEMPTED_BY = ['first', 'redelivery', 'person', 'operator'] as const;

/** The buckets OpenTelemetry advises for `http.server.request.duration`, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** What is looked at whenever Prometheus asks. */
export type Sources = {
  /** By status; throws while the store is away. */
  outboxDepth(): Promise<Record<string, number>>;
  /** Those that have not arrived, and for how long the oldest waits; throws while the store is away. */
  submissions(): Promise<Record<(typeof UNARRIVED)[number] | 'oldestWaitingSeconds', number>>;
  storeAnswers(): Promise<boolean>;
  limitsAreInsured(): boolean;
};

/** Serves `/metrics` at that address. Throws where the port is taken. */
export async function openMetrics(host: string, port: number, sources: Sources): Promise<Metrics> {
  // Loaded only when a setting asks for it: a cold start pays for what it uses.
  const { createServer } = await import('node:http');
  const client = await import('@prometheus-io/client');
  const registry = new client.Registry();
  client.collectDefaultMetrics({ register: registry });
  const duration = new client.Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP server requests.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: BUCKETS,
    registers: [registry],
  });
  const ignoredForwardedFor = new client.Counter({
    name: 'service_forwarded_for_ignored_total',
    help: 'Requests whose X-Forwarded-For came from a peer outside TRUST_PROXY.',
    registers: [registry],
  });
  const executions = new client.Counter({
    name: 'service_executions_total',
    help: 'Executions that this instance has settled, by action and status.',
    labelNames: ['action', 'status'],
    registers: [registry],
  });
  const confirmations = new client.Counter({
    name: 'service_confirmations_total',
    help: 'Confirmations that were asked for on a page of ours, and how this instance has seen them end.',
    labelNames: ['status'],
    registers: [registry],
  });
  const subscribers = new client.Counter({
    name: 'service_subscribers_total',
    help: 'Subscribers that this instance has asked, and how it has seen them confirm, leave and run out.',
    labelNames: ['status'],
    registers: [registry],
  });
  const attempts = new client.Counter({
    name: 'service_submission_attempts_total',
    help: 'Attempts of this instance to have a submission confirmed, by outcome and by what caused them.',
    labelNames: ['outcome', 'by'],
    registers: [registry],
  });
  // From the start at 0: of a counter that begins at 1 Prometheus sees no increase.
  for (const outcome of OUTCOMES) {
    for (const by of ATTEMPTED_BY) attempts.inc({ outcome, by }, 0);
  }
  for (const status of CONFIRMATIONS) confirmations.inc({ status }, 0);
  for (const status of SUBSCRIBERS) subscribers.inc({ status }, 0);
  for (const action of Object.keys(forms)) {
    for (const status of STATUSES) executions.inc({ action, status }, 0);
  }
  new client.Gauge({
    name: 'service_outbox_messages',
    help: 'Messages in the outbox, by status.',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      // Unknown while the store is away: what is known is told all the same.
      this.reset();
      const depth = await sources.outboxDepth().catch(() => ({}));
      for (const [status, count] of Object.entries(depth)) this.set({ status }, count);
    },
  });
  new client.Gauge({
    name: 'service_submission_oldest_waiting_seconds',
    help: 'How long the oldest of the submissions that wait for the upstream has been here.',
    registers: [registry],
    async collect() {
      const counts = await sources.submissions().catch(() => undefined);
      this.set(counts?.oldestWaitingSeconds ?? Number.NaN);
    },
  });
  new client.Gauge({
    name: 'service_submissions',
    help: 'Submissions that have not arrived, by status; undelivered ones of browsers alone.',
    labelNames: ['status'],
    registers: [registry],
    async collect() {
      this.reset();
      const counts = await sources.submissions().catch(() => undefined);
      for (const status of UNARRIVED) if (counts) this.set({ status }, counts[status]);
    },
  });
  new client.Gauge({
    name: 'service_store_up',
    help: 'Whether the store takes a statement: 1, or 0 while it is away.',
    registers: [registry],
    async collect() {
      this.set((await sources.storeAnswers()) ? 1 : 0);
    },
  });
  new client.Gauge({
    name: 'service_limits_insured',
    help: 'Whether rate limits are counted in this process alone because Redis is away.',
    registers: [registry],
    collect() {
      this.set(sources.limitsAreInsured() ? 1 : 0);
    },
  });

  const collecting = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    if (request.url !== routes.metrics.path) {
      response.writeHead(404).end();
      return;
    }
    if (request.method !== routes.metrics.method) {
      response.writeHead(405, { allow: routes.metrics.method }).end();
      return;
    }
    const answered = registry
      .metrics()
      .then(
        (text) => void response.writeHead(200, { 'content-type': registry.contentType }).end(text),
        () => void response.writeHead(503).end(),
      )
      .finally(() => collecting.delete(answered));
    collecting.add(answered);
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, resolve);
  });

  return {
    observeRequest: (method, route, status, seconds) =>
      duration.observe(
        { http_request_method: method, http_route: route, http_response_status_code: status },
        seconds,
      ),
    countIgnoredForwardedFor: () => ignoredForwardedFor.inc(),
    countExecution: (action, status) => executions.inc({ action, status }),
    countConfirmation: (status, times = 1) => confirmations.inc({ status }, times),
    countSubscriber: (status, times = 1) => subscribers.inc({ status }, times),
    countAttempt: (outcome, by) => attempts.inc({ outcome, by }),
    async close() {
      const closed = new Promise((resolve) => void server.close(resolve));
      server.closeAllConnections();
      await closed;
      await Promise.all(collecting);
    },
  };
}
