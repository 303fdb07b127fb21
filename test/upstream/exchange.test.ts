/** The rest of an exchange after its status: body, connection and timers (reference §10.4). */
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { RemoteUpstream } from '../../src/upstream/upstream.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { freely, lead } from './event.ts';

/** Same values as in `src/upstream/http.ts`. */
const BODY_MAXIMUM_BYTES = 64 * 1024;
const BODY_MAXIMUM_MS = 1_000;

const confirmed = { kind: 'confirmed', known: false, status: 200 };

let receiver: ProgrammableUpstream;
let upstream: RemoteUpstream;
/** Timers that are neither cancelled nor fired, with their milliseconds. */
let timers: Map<() => void, number>;
/** Client ports of all requests, and those that are still open. */
let ports: (number | undefined)[];
let open: Set<number | undefined>;

const clock = {
  ...systemClock,
  after: (ms: number, fallDue: () => void) => {
    timers.set(fallDue, ms);
    return () => timers.delete(fallDue);
  },
};
const options = () => ({ url: receiver.url, secrets: [], timeoutMs: 20_000, clock });

beforeEach(async () => {
  [timers, ports, open] = [new Map(), [], new Set()];
  receiver = await startUpstream();
  upstream = openHttpUpstream(options());
});
afterEach(async () => {
  await upstream.close();
  await receiver.close();
});

/** Answers the next requests with 200 and a body of that size, of which `missing` bytes never arrive. */
function answerWith(bytes: number, missing = 0): void {
  receiver.answer = (response) => {
    const { socket } = response;
    const { remotePort: port } = socket ?? expect.fail();
    ports.push(port);
    if (!open.has(port)) socket?.on('close', () => open.delete(port));
    open.add(port);
    response.writeHead(200, { 'content-length': bytes });
    response.write(Buffer.alloc(bytes - missing));
    if (missing === 0) response.end();
  };
}

describe('body of an answer', () => {
  test.each([
    [1, 1],
    [BODY_MAXIMUM_BYTES, 1],
    [BODY_MAXIMUM_BYTES + 1, 2],
  ])('of %i bytes: two exchanges use %i connection(s)', async (bytes, connections) => {
    answerWith(bytes);
    for (let times = 1; times <= 2; times += 1) {
      expect(await upstream.deliver(lead, freely)).toEqual(confirmed);
      // All timers are cancelled once the body has ended or was dropped.
      await until(() => timers.size === 0);
      // The connection becomes free shortly afterwards.
      await systemClock.sleep(20);
    }
    expect(new Set(ports).size).toBe(connections);
  });

  test('is dropped with its connection if it does not end within a second', async () => {
    answerWith(10, 1);
    expect(await upstream.deliver(lead, freely)).toEqual(confirmed);
    expect([...timers.values()]).toEqual([BODY_MAXIMUM_MS]);
    expect(open.size).toBe(1);
    for (const fallDue of timers.keys()) fallDue();
    await until(() => open.size === 0);
  });

  test('does not change the outcome if its connection breaks, and leaves no timer', async () => {
    answerWith(10, 1);
    expect(await upstream.deliver(lead, freely)).toEqual(confirmed);
    await receiver.close();
    await until(() => timers.size === 0);
  });
});

test('close ends idle connections within three seconds, long before the receiver would end them', async () => {
  answerWith(1);
  await upstream.deliver(lead, freely);
  await until(() => timers.size === 0);
  expect([open.size, upstream.embedded]).toEqual([1, false]);
  const closedAt = performance.now();
  await upstream.close();
  await until(() => open.size === 0);
  expect(performance.now() - closedAt).toBeLessThan(3_000);
});
