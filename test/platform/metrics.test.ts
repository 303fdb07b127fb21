import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openMetrics } from '../../src/platform/metrics.ts';
import { routes } from '../../src/routes.ts';
import { call, executeAction, previewAction, previewId } from '../support/agent.ts';
import { testClock } from '../support/clock.ts';
import { formNames, post } from '../support/forms.ts';
import { freePort } from '../support/free-port.ts';
import { type ServiceOptions, startService, tokens } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering, startUpstream } from '../support/upstream.ts';

async function start(options: ServiceOptions) {
  const service = await startService(options);
  onTestFinished(() => service.close());
  return service;
}

/** Starts a service with metrics. `scrape` returns the text that Prometheus would read. */
async function startWithMetrics(options: ServiceOptions = {}) {
  const port = await freePort();
  const environment = { ...options.environment, METRICS_PORT: String(port) };
  const service = await start({ ...options, environment });
  const url = `http://127.0.0.1:${port}`;
  const scrape = async () => await (await fetch(`${url}/metrics`)).text();
  return { service, url, scrape };
}

/** Returns the value of the line with that name and those labels. */
function valueIn(text: string, name: string, labels: Record<string, string> = {}) {
  const wanted = Object.entries(labels).map(([label, value]) => `${label}="${value}"`);
  const line = text
    .split('\n')
    .find((each) => /^[a-z_]+/.exec(each)?.[0] === name && wanted.every((pair) => each.includes(pair)));
  return line === undefined ? undefined : Number(line.split(' ').at(-1));
}

/** Returns the ports on which this process listens, including those of other test files. */
function portsListenedOn(): Set<number> {
  const ours = new Set(readdirSync('/proc/self/fd').map(linkOf));
  const sockets = readFileSync('/proc/net/tcp', 'utf8').trim().split('\n').slice(1);
  const listening = sockets
    .map((line) => line.trim().split(/\s+/))
    .filter(([, , , state, ...rest]) => state === '0A' && ours.has(`socket:[${rest[5]}]`));
  return new Set(listening.map(([, local = '']) => Number.parseInt(local.split(':')[1] ?? '', 16)));
}

/** Returns the target of a descriptor. The descriptor that listed the folder is already closed. */
function linkOf(descriptor: string): string {
  try {
    return readlinkSync(`/proc/self/fd/${descriptor}`);
  } catch {
    return '';
  }
}

const hasProc = existsSync('/proc/self/fd');
test.runIf(hasProc)('serves /metrics on its own port, and only if METRICS_PORT is set', async () => {
  const before = portsListenedOn();
  const opened = () => [...portsListenedOn().difference(before)].sort();
  const plain = await start({});
  expect(opened()).toEqual([plain.settings.port]);
  expect((await call(plain, '/metrics', { method: 'GET' })).status).toBe(404);

  const { service, url } = await startWithMetrics();
  const { port, metricsPort } = service.settings;
  expect(opened()).toEqual([plain.settings.port, port, metricsPort].sort());
  const answer = await fetch(`${url}/metrics`);
  expect([answer.status, answer.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')]);
  expect((await fetch(`${url}/`)).status).toBe(404);
  const posted = await fetch(`${url}/metrics`, { method: 'POST' });
  expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET']);
  expect((await call(service, '/metrics', { method: 'GET' })).status).toBe(404);
});

test('measures requests under the names of OpenTelemetry, by route pattern and never by path', async () => {
  const { service, scrape } = await startWithMetrics();
  await previewAction(service);
  await previewAction(service, 'contact');
  await call(service, '/nothing/of/the/kind', { method: 'GET' });
  await call(service, '/api/leads', { method: 'DELETE' });
  const text = await scrape();
  const name = 'http_server_request_duration_seconds_count';
  const measured = (method: string, route: string, status: number) =>
    valueIn(text, name, {
      http_request_method: method,
      http_route: route,
      http_response_status_code: String(status),
    });
  expect(measured('POST', '/api/agent/actions/:action/preview', 200)).toBe(1);
  expect(measured('POST', '/api/agent/actions/:action/preview', 400)).toBe(1);
  expect(measured('GET', 'unknown', 404)).toBe(1);
  expect(measured('DELETE', 'unknown', 405)).toBe(1);
  expect(text).toMatch(/^# TYPE http_server_request_duration_seconds histogram$/m);
  expect(text).not.toContain('/nothing/of');
  expect(text).not.toContain(tokens.both);
});

test('counts an execution once, by action and status', async () => {
  const { service, scrape } = await startWithMetrics();
  const preview = await previewId(service);
  await executeAction(service, preview, { key: 'counted' });
  await executeAction(service, preview, { key: 'counted' });
  const labels = { action: 'homeowner_quote', status: 'submitted' };
  expect(valueIn(await scrape(), 'service_executions_total', labels)).toBe(1);
});

test('exposes executions and attempts from the start with 0, so that a first failure is an increase', async () => {
  const { scrape } = await startWithMetrics();
  const text = await scrape();
  const lines = text.split('\n').filter((line) => /^service_(exec|submission_attempts)/.test(line));
  const executions = formNames
    .toSorted()
    .flatMap((action) =>
      ['failed', 'submitted'].map((status) => `service_executions_total{action="${action}",status="${status}"} 0`),
    );
  const attempts = ['confirmed', 'rateLimited', 'rejected', 'unconfirmed', 'unknown'].flatMap((outcome) =>
    ['first', 'operator', 'person', 'redelivery'].map(
      (by) => `service_submission_attempts_total{outcome="${outcome}",by="${by}"} 0`,
    ),
  );
  expect(lines.toSorted()).toEqual([...executions, ...attempts]);
});

test('exposes undelivered submissions by status, and the age of the oldest waiting one (reference §21.4)', async () => {
  const upstream = await startUpstream();
  const clock = testClock();
  const { service, scrape } = await startWithMetrics({
    clock,
    environment: { UPSTREAM_URL: upstream.url },
  });
  upstream.answer = answering(500);
  await post(service, '/api/leads', 'json', { email: 'ada@example.com' });
  clock.advance(90_000);
  await post(service, '/api/leads', 'json', { email: 'grace@example.com' });
  upstream.answer = answering(422);
  await post(service, '/api/leads', 'json', { email: 'edsger@example.com' });
  // The person decides about an agent's failed submission, so it is not counted.
  await executeAction(service, await previewId(service));
  const text = await scrape();
  await upstream.close();
  const of = (status: string) => valueIn(text, 'service_submissions', { status });
  expect(['sending', 'waiting', 'undelivered'].map(of)).toEqual([0, 2, 1]);
  expect(valueIn(text, 'service_submission_oldest_waiting_seconds')).toBe(90);
});

test('counts an attempt by outcome and sender, but no refusal before an attempt', async () => {
  const upstream = await startUpstream();
  const { service, scrape } = await startWithMetrics({
    environment: { UPSTREAM_URL: upstream.url },
  });
  const lead = { email: 'ada@example.com' };
  await post(service, '/api/leads', 'json', lead);
  await post(service, '/api/leads', 'json', { ...lead, 'bot-field': 'x' });
  await post(service, '/api/leads', 'json', { email: 'nobody' });
  for (const status of [500, 422, 429]) {
    upstream.answer = answering(status);
    await executeAction(service, await previewId(service));
    const email = `ada+${status}@example.com`;
    await post(service, '/api/subscribe', 'json', { email, privacy: 'on' });
  }
  const text = await scrape();
  await upstream.close();
  const counted = (outcome: string) => valueIn(text, 'service_submission_attempts_total', { outcome, by: 'first' });
  expect(['confirmed', 'unconfirmed', 'rejected', 'rateLimited'].map(counted)).toEqual([1, 2, 2, 2]);
});

test('ignores and counts X-Forwarded-For from outside TRUST_PROXY, and warns once a minute', async () => {
  const clock = testClock();
  const { service, scrape } = await startWithMetrics({ clock, environment: { TRUST_PROXY: '' } });
  const warnings = () => service.logs.filter((line) => line.includes('outside TRUST_PROXY')).length;
  const counted = async () => valueIn(await scrape(), 'service_forwarded_for_ignored_total');
  expect(await counted()).toBe(0);

  const first = await previewAction(service);
  const second = await previewAction(service);
  const remaining = (answer: typeof first) => answer.headers.get('ratelimit')?.match(/r=(\d+)/)?.[1];
  // Both sent different addresses and still count as one client.
  expect([remaining(first), remaining(second)]).toEqual(['59', '58']);
  expect([await counted(), warnings()]).toEqual([2, 1]);

  clock.advance(59_999);
  await previewAction(service);
  expect([await counted(), warnings()]).toEqual([3, 1]);
  clock.advance(1);
  await previewAction(service);
  expect([await counted(), warnings()]).toEqual([4, 2]);
});

test('neither counts nor warns about X-Forwarded-For of a trusted proxy', async () => {
  const { service, scrape } = await startWithMetrics();
  await previewAction(service);
  expect(valueIn(await scrape(), 'service_forwarded_for_ignored_total')).toBe(0);
  expect(service.logs.join()).not.toContain('TRUST_PROXY');
});

const steady = {
  route: routes.metrics,
  forms: ['contact'],
  outboxDepth: async () => ({}),
  submissions: async () => ({ sending: 0, waiting: 0, undelivered: 0, oldestWaitingSeconds: 0 }),
  storeAnswers: async () => true,
  usesFallbackLimits: () => false,
};

/** Opens metrics over these sources. `scrape` returns the status of a scrape and its lines with that prefix. */
async function openOver(sources: Partial<Parameters<typeof openMetrics>[2]> = {}) {
  const port = await freePort();
  const metrics = await openMetrics('127.0.0.1', port, { ...steady, ...sources });
  onTestFinished(() => metrics.close());
  const scrape = async (prefix: string) => {
    const answer = await fetch(`http://127.0.0.1:${port}/metrics`);
    const lines = (await answer.text()).split('\n').filter((line) => line.startsWith(prefix));
    return { status: answer.status, lines: lines.toSorted() };
  };
  return { metrics, port, scrape };
}

test('exposes confirmations, subscribers and honeypots from the start with 0, and then each count', async () => {
  const { metrics, scrape } = await openOver();
  const zeros = async (name: string) => (await scrape(name)).lines;
  const of = (name: string, label: string, counts: Record<string, number>) =>
    Object.entries(counts).map(([value, count]) => `${name}{${label}="${value}"} ${count}`);
  const confirmations = { asked: 0, declined: 0, expired: 0, failed: 0, reported: 0, submitted: 0 };
  const subscribers = { confirmed: 0, expired: 0, pending: 0, unsubscribed: 0 };
  const [asked, joined, bots] = ['service_confirmations_total', 'service_subscribers_total', 'service_honeypot_total'];
  expect(await zeros(asked)).toEqual(of(asked, 'status', confirmations));
  expect(await zeros(joined)).toEqual(of(joined, 'status', subscribers));
  expect(await zeros(bots)).toEqual(of(bots, 'form', { contact: 0 }));

  metrics.countConfirmation('asked');
  metrics.countConfirmation('declined', 3);
  metrics.countSubscriber('pending');
  metrics.countSubscriber('expired', 4);
  metrics.countHoneypot('contact');
  expect(await zeros(asked)).toEqual(of(asked, 'status', { ...confirmations, asked: 1, declined: 3 }));
  expect(await zeros(joined)).toEqual(of(joined, 'status', { ...subscribers, expired: 4, pending: 1 }));
  expect(await zeros(bots)).toEqual(of(bots, 'form', { contact: 1 }));
});

test('counts executions and confirmations of sandbox clients in series of their own', async () => {
  const { metrics, scrape } = await openOver();
  metrics.countExecution('contact', 'submitted', true);
  metrics.countConfirmation('asked', 1, true);
  const executions = await scrape('service_executions_total{action="contact",status="submitted"');
  expect(executions.lines).toEqual([
    'service_executions_total{action="contact",status="submitted",sandbox="true"} 1',
    'service_executions_total{action="contact",status="submitted"} 0',
  ]);
  const { lines } = await scrape('service_confirmations_total{status="asked"');
  expect(lines).toContain('service_confirmations_total{status="asked",sandbox="true"} 1');
});

test('shows only the statuses that have rows now, and no status while the store is unavailable', async () => {
  let isAway = false;
  const away = async <T>(value: T) => {
    if (isAway) throw new Error('The store is away.');
    return value;
  };
  let depth: Record<string, number> = { pending: 2, failed: 1 };
  const { scrape } = await openOver({
    outboxDepth: () => away(depth),
    submissions: async () => away(await steady.submissions()),
  });
  const messages = 'service_outbox_messages{';
  const shown = (counts: Record<string, number>) =>
    Object.entries(counts).map(([status, count]) => `${messages}status="${status}"} ${count}`);
  expect((await scrape(messages)).lines).toEqual(shown({ failed: 1, pending: 2 }));
  depth = { pending: 1 };
  expect((await scrape(messages)).lines).toEqual(shown({ pending: 1 }));
  isAway = true;
  expect(await scrape(messages)).toEqual({ status: 200, lines: [] });
  expect((await scrape('service_submissions{')).lines).toEqual([]);
  const { lines } = await scrape('service_submission_oldest_waiting_seconds');
  expect(lines).toEqual([expect.stringMatching(/ nan$/i)]);
});

test('answers 503 if a value fails for a reason that nobody expected', async () => {
  const { scrape } = await openOver({ storeAnswers: () => Promise.reject(new RangeError('a defect')) });
  expect(await scrape('')).toEqual({ status: 503, lines: [''] });
});

test('throws if its port is in use', async () => {
  const { port } = await openOver();
  await expect(openMetrics('127.0.0.1', port, steady)).rejects.toMatchObject({ code: 'EADDRINUSE' });
});

test('waits on close for a running collection, which queries the store', async () => {
  const port = await freePort();
  let answer = () => {};
  let asked = false;
  const metrics = await openMetrics('127.0.0.1', port, {
    ...steady,
    outboxDepth: () => {
      asked = true;
      return new Promise((resolve) => {
        answer = () => resolve({});
      });
    },
  });
  const scraped = fetch(`http://127.0.0.1:${port}/metrics`).catch(() => 'cut');
  await until(() => asked);
  let closed = false;
  const closing = metrics.close().then(() => {
    closed = true;
  });
  expect(await scraped).toBe('cut');
  await systemClock.turn();
  expect(closed).toBe(false);
  answer();
  await closing;
});
