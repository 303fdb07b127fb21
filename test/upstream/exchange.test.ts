/** What is left of an exchange whose status has decided: its body, its connection, its timers (contract §3). */
import { createRequire } from 'node:module';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { RemoteUpstream } from '../../src/upstream/upstream.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { freely, lead } from './event.ts';

/** As in `src/upstream/http.ts`. */
const BODY_MAXIMUM_BYTES = 64 * 1024;
const BODY_MAXIMUM_MS = 1_000;

const confirmed = { kind: 'confirmed', known: false };

let receiver: ProgrammableUpstream;
let upstream: RemoteUpstream;
/** The timers that were neither called off nor fell due, with their milliseconds. */
let timers: Map<() => void, number>;
/** The ports from which it was asked, and those of them that are open. */
let ports: (number | undefined)[];
let open: Set<number | undefined>;

const clock = {
  ...systemClock,
  after: (ms: number, fallDue: () => void) => {
    timers.set(fallDue, ms);
    return () => timers.delete(fallDue);
  },
};
const options = () => ({ url: receiver.url, secret: undefined, timeoutMs: 20_000, clock });

beforeEach(async () => {
  [timers, ports, open] = [new Map(), [], new Set()];
  receiver = await startUpstream();
  upstream = openHttpUpstream(options());
});
afterEach(async () => {
  await upstream.close();
  await receiver.close();
});

/** The next requests are answered by 200 and so many bytes, of which some never come. */
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

describe('a body', () => {
  test.each([
    [1, 1],
    [BODY_MAXIMUM_BYTES, 1],
    [BODY_MAXIMUM_BYTES + 1, 2],
  ])('of %i bytes: two exchanges take %i connection(s)', async (bytes, connections) => {
    answerWith(bytes);
    for (let times = 1; times <= 2; times += 1) {
      expect(await upstream.deliver(lead, freely)).toEqual(confirmed);
      // No timer runs on once the body has ended or was given up.
      await until(() => timers.size === 0);
      // And a moment later the connection is free.
      await systemClock.sleep(20);
    }
    expect(new Set(ports).size).toBe(connections);
  });

  test('that does not end within a second is given up, and its connection with it', async () => {
    answerWith(10, 1);
    expect(await upstream.deliver(lead, freely)).toEqual(confirmed);
    expect([...timers.values()]).toEqual([BODY_MAXIMUM_MS]);
    expect(open.size).toBe(1);
    for (const fallDue of timers.keys()) fallDue();
    await until(() => open.size === 0);
  });

  test('whose connection breaks has decided before, and leaves no timer', async () => {
    answerWith(10, 1);
    expect(await upstream.deliver(lead, freely)).toEqual(confirmed);
    await receiver.close();
    await until(() => timers.size === 0);
  });
});

test('closing ends the connections that are kept, long before the receiver would', async () => {
  answerWith(1);
  await upstream.deliver(lead, freely);
  await until(() => timers.size === 0);
  expect([open.size, upstream.embedded]).toEqual([1, false]);
  const closedAt = performance.now();
  await upstream.close();
  await until(() => open.size === 0);
  expect(performance.now() - closedAt).toBeLessThan(3_000);
});

describe('the HTTP client', () => {
  const { cache, resolve } = createRequire(import.meta.url);
  const path = resolve('undici/lib/dispatcher/pool.js');
  const loaded = cache[path];
  /** Another instance of the module, which has loaded nothing yet. */
  const openFresh = async () => {
    delete cache[path];
    vi.resetModules();
    const fresh = await import('../../src/upstream/http.ts');
    return fresh.openHttpUpstream(options());
  };
  afterEach(() => {
    cache[path] = loaded;
    vi.resetModules();
  });

  test('is loaded by what prepares a delivery, not by opening', async () => {
    const fresh = await openFresh();
    expect(cache).not.toHaveProperty([path]);
    fresh.prepare?.();
    expect(cache).toHaveProperty([path]);
    await fresh.close();
  });

  test('that can’t be loaded has sent nothing, and is loaded by the next delivery', async () => {
    const fresh = await openFresh();
    const broken = {
      loaded: true,
      get exports() {
        throw new Error('too many open files');
      },
    };
    cache[path] = broken as unknown as NodeJS.Module;
    expect(await fresh.deliver(lead, freely)).toEqual({
      kind: 'unconfirmed',
      reason: 'The HTTP client could not be loaded.',
      unsent: true,
    });
    delete cache[path];
    expect(await fresh.deliver(lead, freely)).toEqual(confirmed);
    await fresh.close();
  });
});
