/** A blocked event loop: the timeout fires late, and an answer that has arrived by then counts. */
import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import { freely, lead } from './event.ts';

const TIMEOUT_MS = 200;
const BLOCKED_MS = 500;

/** A receiver in its own thread, which reports a request and answers it a moment later. */
const RECEIVER = `
  const { parentPort } = require('node:worker_threads');
  const server = require('node:http').createServer((request, response) => {
    request.resume().on('end', () => {
      parentPort.postMessage('asked');
      const status = Number(new URL(request.url, 'http://receiver').searchParams.get('status'));
      if (status > 0) setTimeout(() => response.writeHead(status, { 'retry-after': '7' }).end(), 50);
    });
  });
  server.listen(0, '127.0.0.1', () => parentPort.postMessage(server.address().port));
`;

let receiver: Worker;
let port: number;
beforeAll(async () => {
  receiver = new Worker(RECEIVER, { eval: true });
  [port] = await once(receiver, 'message');
});
afterAll(() => receiver.terminate());

/** Delivers while this thread is blocked until long after the timeout. */
async function deliverBlocked(status: number) {
  const url = `http://127.0.0.1:${port}/?status=${status}`;
  const upstream = openHttpUpstream({
    url,
    secrets: [],
    timeoutMs: TIMEOUT_MS,
    clock: systemClock,
  });
  const delivering = upstream.deliver(lead, freely);
  await once(receiver, 'message');
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, BLOCKED_MS);
  const outcome = await delivering;
  await upstream.close();
  return outcome;
}

test.each([
  [200, { kind: 'confirmed', known: false, status: 200 }],
  [422, { kind: 'rejected', status: 422 }],
  [429, { kind: 'rateLimited', retryAfterSeconds: 7, status: 429 }],
  [500, { kind: 'unconfirmed', reason: expect.stringContaining('500') }],
])(
  'deliver returns the outcome of the answer %i that waits in the socket if its timer fires after the timeout',
  async (status, outcome) => {
    expect(await deliverBlocked(status)).toMatchObject(outcome);
  },
);

test('deliver returns unconfirmed if its timer fires after the timeout and no answer has arrived', async () => {
  expect(await deliverBlocked(0)).toEqual({
    kind: 'unconfirmed',
    reason: 'The upstream did not answer in time.',
  });
});
