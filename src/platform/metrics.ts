/** Metrics for Prometheus, on a port of their own. The names of the metrics follow OpenTelemetry's HTTP conventions. */
export type Metrics = {
  observeRequest(method: string, route: string, status: number, seconds: number): void;
  countIgnoredForwardedFor(): void;
  /** `sandbox` is true for a sandbox client, here and below (reference §27.6). */
  countExecution(action: string, status: string, sandbox?: boolean): void;
  /**
   * Counts pending confirmations and how they end (reference §21.4). One confirmation can end several other
   * confirmations.
   */
  countConfirmation(status: (typeof CONFIRMATIONS)[number], times?: number, sandbox?: boolean): void;
  /** Counts subscribers by their new status (reference §21.4). Several subscribers can expire together. */
  countSubscriber(status: (typeof SUBSCRIBERS)[number], times?: number): void;
  /** Counts a submission with a filled honeypot. */
  countHoneypot(form: string): void;
  countAttempt(outcome: (typeof OUTCOMES)[number], by: (typeof ATTEMPTED_BY)[number]): void;
  /** Waits for scrapes under way, which read the store. */
  close(): Promise<void>;
};

/** Metrics without an effect. They are used if `METRICS_PORT` is not set. */
export const noMetrics: Metrics = {
  observeRequest: () => {},
  countIgnoredForwardedFor: () => {},
  countExecution: () => {},
  countAttempt: () => {},
  countConfirmation: () => {},
  countSubscriber: () => {},
  countHoneypot: () => {},
  close: async () => {},
};

/** Returns the label of a sandbox client. Counts of real traffic have no such label. */
const markOf = (sandbox: boolean) => (sandbox ? { sandbox: 'true' } : {});

const STATUSES = ['submitted', 'failed'] as const;
const CONFIRMATIONS = ['asked', 'submitted', 'failed', 'declined', 'reported', 'expired'] as const;
const SUBSCRIBERS = ['pending', 'confirmed', 'unsubscribed', 'expired'] as const;
const OUTCOMES = ['confirmed', 'rejected', 'rateLimited', 'unconfirmed', 'unknown'] as const;
const UNARRIVED = ['sending', 'waiting', 'undelivered'] as const;
const ATTEMPTED_BY = ['first', 'redelivery', 'person', 'operator'] as const;

/** The buckets OpenTelemetry advises for `http.server.request.duration`, in seconds. */
const BUCKETS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10];

/** The route of the metrics, and values that are read at each scrape. */
export type Sources = {
  route: { path: string; method: string };
  forms: readonly string[];
  /** Returns the number of messages for each status. Throws while the store is unavailable. */
  outboxDepth(): Promise<Record<string, number>>;
  /**
   * Returns the number of undelivered submissions for each status, and the age of the oldest waiting submission in
   * seconds. Throws while the store is unavailable.
   */
  submissions(): Promise<Record<(typeof UNARRIVED)[number] | 'oldestWaitingSeconds', number>>;
  storeAnswers(): Promise<boolean>;
  usesFallbackLimits(): boolean;
};

/** Serves `/metrics` at that address. Throws if the port is in use. */
export async function openMetrics(host: string, port: number, sources: Sources): Promise<Metrics> {
  const { createServer } = await import('node:http');
  const client = await import('@prometheus-io/client');
  const registry = new client.Registry();
  client.collectDefaultMetrics({ register: registry });
  const registers = [registry];
  const duration = new client.Histogram({
    name: 'http_server_request_duration_seconds',
    help: 'Duration of HTTP server requests.',
    labelNames: ['http_request_method', 'http_route', 'http_response_status_code'],
    buckets: BUCKETS,
    registers,
  });
  const counter = (name: string, help: string, ...labelNames: string[]) =>
    new client.Counter({ name, help, labelNames, registers });
  const ignoredForwardedFor = counter(
    'service_forwarded_for_ignored_total',
    'Requests whose X-Forwarded-For came from a peer outside TRUST_PROXY.',
  );
  const executions = counter(
    'service_executions_total',
    'Executions settled by this instance, by action and status.',
    ...['action', 'status', 'sandbox'],
  );
  const confirmations = counter(
    'service_confirmations_total',
    'Confirmations requested on this instance, and their results on this instance, by status.',
    ...['status', 'sandbox'],
  );
  const subscribers = counter(
    'service_subscribers_total',
    'Changes of subscribers on this instance, by new status.',
    'status',
  );
  const honeypots = counter(
    'service_honeypot_total',
    'Submissions dropped by this instance because of a filled honeypot, by form.',
    'form',
  );
  const attempts = counter(
    'service_submission_attempts_total',
    'Delivery attempts of this instance, by outcome and cause.',
    ...['outcome', 'by'],
  );
  // Prometheus sees no increase in a counter that begins at 1, so each counter begins at 0.
  for (const outcome of OUTCOMES) {
    for (const by of ATTEMPTED_BY) attempts.inc({ outcome, by }, 0);
  }
  for (const status of CONFIRMATIONS) confirmations.inc({ status }, 0);
  for (const status of SUBSCRIBERS) subscribers.inc({ status }, 0);
  for (const form of sources.forms) {
    honeypots.inc({ form }, 0);
    for (const status of STATUSES) executions.inc({ action: form, status }, 0);
  }

  const gauge = (name: string, help: string, read: () => number | Promise<number>) =>
    new client.Gauge({
      name,
      help,
      registers,
      async collect() {
        this.set(await read());
      },
    });
  /** A gauge with a value for each status. The gauge has no values while the store is unavailable. */
  const gaugeByStatus = (name: string, help: string, read: () => Promise<Record<string, number>>) =>
    new client.Gauge({
      name,
      help,
      labelNames: ['status'],
      registers,
      async collect() {
        this.reset();
        for (const [status, count] of Object.entries(await read().catch(() => ({})))) this.set({ status }, count);
      },
    });
  gaugeByStatus('service_outbox_messages', 'Messages in the outbox, by status.', sources.outboxDepth);
  gauge(
    'service_submission_oldest_waiting_seconds',
    'Age of the oldest submission that waits for the upstream.',
    async () => (await sources.submissions().catch(() => undefined))?.oldestWaitingSeconds ?? Number.NaN,
  );
  gaugeByStatus(
    'service_submissions',
    'Submissions that have not arrived, by status. Undelivered ones count only if they come from browsers.',
    async () => {
      const counts = await sources.submissions();
      return Object.fromEntries(UNARRIVED.map((status) => [status, counts[status]]));
    },
  );
  gauge('service_store_up', '1 if the store is available, otherwise 0.', async () =>
    Number(await sources.storeAnswers()),
  );
  gauge(
    'service_limits_insured',
    '1 if Redis is unavailable and this instance counts rate limits locally, otherwise 0.',
    () => Number(sources.usesFallbackLimits()),
  );

  const collecting = new Set<Promise<void>>();
  const server = createServer((request, response) => {
    if (request.url !== sources.route.path) {
      response.writeHead(404).end();
      return;
    }
    if (request.method !== sources.route.method) {
      response.writeHead(405, { allow: sources.route.method }).end();
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
      duration.observe({ http_request_method: method, http_route: route, http_response_status_code: status }, seconds),
    countIgnoredForwardedFor: () => ignoredForwardedFor.inc(),
    countExecution: (action, status, sandbox = false) => executions.inc({ action, status, ...markOf(sandbox) }),
    countConfirmation: (status, times = 1, sandbox = false) => confirmations.inc({ status, ...markOf(sandbox) }, times),
    countSubscriber: (status, times = 1) => subscribers.inc({ status }, times),
    countHoneypot: (form) => honeypots.inc({ form }),
    countAttempt: (outcome, by) => attempts.inc({ outcome, by }),
    async close() {
      const closed = new Promise((resolve) => void server.close(resolve));
      server.closeAllConnections();
      await closed;
      await Promise.all(collecting);
    },
  };
}
