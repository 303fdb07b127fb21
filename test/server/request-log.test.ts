/** The id, the log line and the measurement of each request, apart from the routes. */
import fastify from 'fastify';
import { beforeEach, expect, test } from 'vitest';
import { openInFlight } from '../../src/platform/in-flight.ts';
import { openLog } from '../../src/platform/log.ts';
import { type Answering, registerObservation } from '../../src/server/request-log.ts';

const lines: string[] = [];
const measured: unknown[][] = [];
const answering = openInFlight<Answering>();
let isDraining = false;
let startDrain = () => {};
let waiting = 0;
/** `refused`: too many requests wait on the connection. */
let refused = false;

const app = fastify();
registerObservation(app, {
  sameOnEvery: { 'x-same': 'on every answer' },
  connections: {
    trackRequest: (response, id) => {
      if (refused) return undefined;
      waiting += 1;
      const end = () => {
        waiting -= 1;
      };
      return { request: { id, response }, end };
    },
    lastOf: () => undefined,
  },
  metrics: { observeRequest: (...given) => void measured.push(given) },
  log: openLog('info', (line) => lines.push(line)),
  answering,
  isDraining: () => isDraining,
  onDraining: (callback) => {
    startDrain = callback;
  },
});
app.get('/quote', async () => 'a page');
app.options('/quote', async () => '');
app.get('/api/agent/receipts/:id', async () => ({}));
app.get('/while-draining', async () => {
  startDrain();
  return [answering.all().map(({ route }) => route), waiting];
});

beforeEach(() => {
  for (const list of [lines, measured]) list.length = 0;
  [isDraining, refused] = [false, false];
});

test('logs and measures a request once its response has closed', async () => {
  const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
  const startedAt = performance.now();
  await app.inject({ url: '/quote?email=ada@example.com', headers: { traceparent } });
  const tookMs = performance.now() - startedAt;
  expect([lines.length, measured.length, answering.all(), waiting]).toEqual([1, 1, [], 0]);
  const { ms, requestId, time, ...line } = JSON.parse(lines[0] ?? '');
  const facts = { method: 'GET', route: '/quote', status: 200 };
  expect(line).toEqual({ level: 'info', msg: 'request', ...facts, traceId: 'a'.repeat(32) });
  const [method, route, status, seconds] = measured[0] ?? [];
  expect({ method, route, status }).toEqual(facts);
  // The log has tenths of a millisecond, the measurement seconds.
  expect(ms).toBeCloseTo(Number(seconds) * 1000, 1);
  expect(ms).toBeLessThan(tookMs + 0.1);
  expect(Math.round(ms * 10)).toBeCloseTo(ms * 10, 6);
});

test('sends the headers of every answer, and Vary below the agent routes', async () => {
  const [page, receipt] = [await app.inject('/quote'), await app.inject('/api/agent/receipts/1')];
  expect([page.headers['x-same'], receipt.headers['x-same']]).toEqual(['on every answer', 'on every answer']);
  expect([page.headers.vary, receipt.headers.vary]).toEqual([undefined, 'Accept']);
  expect(page.headers['x-request-id']).not.toBe(receipt.headers['x-request-id']);
});

test('only the answer to OPTIONS gets no-store', async () => {
  const [page, options] = [await app.inject('/quote'), await app.inject({ url: '/quote', method: 'OPTIONS' })];
  expect([page.headers['cache-control'], options.headers['cache-control']]).toEqual([undefined, 'no-store']);
});

test('while the service drains, answers under way and new ones end their connection', async () => {
  const before = await app.inject('/quote');
  expect(before.headers.connection).not.toBe('close');
  const under = await app.inject('/while-draining');
  expect([under.headers.connection, under.json()]).toEqual(['close', [['/while-draining'], 1]]);
  isDraining = true;
  expect((await app.inject('/quote')).headers.connection).toBe('close');
});

test('a request that waits behind too many others gets no answer and no log line', async () => {
  refused = true;
  const answer = app.inject('/quote');
  const soon = new Promise((resolve) => setImmediate(() => setImmediate(() => resolve('no answer'))));
  expect(await Promise.race([answer, soon])).toBe('no answer');
  expect([lines, measured]).toEqual([[], []]);
});
