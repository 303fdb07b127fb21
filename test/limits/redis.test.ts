/** Unavailability of Redis, with a clock that the test advances and a proxy that delays answers. */
import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { createConnection, createServer, type Server, type Socket } from 'node:net';
import { createClient } from '@redis/client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Limits } from '../../src/limits/limits.ts';
import { openMemoryLimits } from '../../src/limits/limits.ts';
import { openRedisLimits } from '../../src/limits/redis.ts';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { openLog } from '../../src/platform/log.ts';
import { redisAnswers, redisUrl } from '../support/databases.ts';
import { until } from '../support/until.ts';

/** Same values as `PATIENCE_MS`, `SILENCE_MS` and `PAUSE_MS` in `src/limits/redis.ts`. */
const PATIENCE_MS = 55;
const SILENCE_MS = 200;
const PAUSE_MS = 1_000;

/** Returns a clock that only the test advances. */
function movedClock() {
  let now = 1_000_000;
  let timers: { at: number; fallDue: () => void }[] = [];
  const clock: Clock = {
    ...systemClock,
    monotonic: () => now,
    after: (ms, fallDue) => {
      const timer = { at: now + ms, fallDue };
      timers.push(timer);
      return () => {
        timers = timers.filter((each) => each !== timer);
      };
    },
  };
  const advance = (ms: number) => {
    now += ms;
    const due = timers.filter(({ at }) => at <= now);
    timers = timers.filter(({ at }) => at > now);
    for (const { fallDue } of due) fallDue();
  };
  return { clock, advance, waiting: () => timers.length };
}

describe.runIf(redisAnswers)('limits in Redis', () => {
  let proxy: Server;
  let url: string;
  let holding = false;
  /** Delayed answers. */
  const held: (() => void)[] = [];
  const sockets = new Set<Socket>();
  const release = () => {
    holding = false;
    for (const pass of held.splice(0)) pass();
  };
  let moved: ReturnType<typeof movedClock>;
  let said: string[];
  let limits: Limits;
  let insured: string[];
  let insuranceClosed: boolean;
  const address = () => `redis-test-${randomUUID()}`;

  const open = (at: string) => {
    moved = movedClock();
    said = [];
    insured = [];
    insuranceClosed = false;
    const memory = openMemoryLimits(moved.clock);
    const fallback = {
      ...memory,
      take: (...asked: Parameters<Limits['take']>) => {
        insured.push(asked[1]);
        return memory.take(...asked);
      },
      close: async () => {
        insuranceClosed = true;
      },
    };
    const write = (line: string) => void said.push(JSON.parse(line).msg);
    return openRedisLimits(at, { clock: moved.clock, fallback, log: openLog('info', write) });
  };
  beforeAll(async () => {
    const target = new URL(redisUrl);
    proxy = createServer((client) => {
      const server = createConnection(Number(target.port || 6379), target.hostname);
      for (const socket of [client, server]) sockets.add(socket.on('error', () => {}));
      client.on('data', (data) => server.write(data)).on('close', () => server.destroy());
      server
        .on('data', (data) => (holding ? held.push(() => client.write(data)) : client.write(data)))
        .on('close', () => client.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    url = `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  });
  beforeEach(async () => {
    release();
    limits = await open(url);
    expect((await limits.take('preview', address())).remaining).toBe(59);
    // Timers of answered requests fire and change nothing.
    moved.advance(1_000);
    expect([moved.waiting(), limits.usesFallback()]).toEqual([0, false]);
  });
  afterEach(() => limits.close());
  afterAll(() => {
    for (const socket of sockets) socket.destroy();
    proxy.close();
  });

  /** Counts one request whose answer is delayed beyond the patience. */
  const takeInSilence = async (of = address()) => {
    const answers = held.length;
    holding = true;
    const taking = limits.take('preview', of);
    await until(() => held.length > answers);
    moved.advance(PATIENCE_MS);
    return await taking;
  };

  test('counts each request in Redis and none in the process while Redis answers, and logs nothing', async () => {
    const of = address();
    for (let n = 1; n <= 62; n += 1) {
      const { remaining, exceeded } = await limits.take('preview', of);
      expect([remaining, exceeded]).toEqual([Math.max(0, 60 - n), n > 60]);
    }
    expect([said, insured, limits.usesFallback()]).toEqual([[], [], false]);
  });

  test('continues in the process from the count of Redis if Redis gives no answer', async () => {
    const of = address();
    for (let n = 1; n <= 3; n += 1) await limits.take('preview', of);
    expect((await takeInSilence(of)).remaining).toBe(56);
    const exceeding = address();
    release();
    for (let n = 1; n <= 61; n += 1) await limits.take('preview', exceeding);
    expect((await takeInSilence(exceeding)).exceeded).toBe(true);
  });

  test('takes back one request in Redis', async () => {
    const of = address();
    for (let n = 1; n <= 61; n += 1) await limits.take('preview', of);
    for (let n = 1; n <= 2; n += 1) await limits.giveBack('preview', of);
    expect((await limits.take('preview', of)).exceeded).toBe(false);
    expect((await limits.take('preview', of)).exceeded).toBe(true);
  });

  test('takes back one request in the process while Redis is unavailable', async () => {
    const of = address();
    expect((await takeInSilence(of)).remaining).toBe(59);
    const answers = held.length;
    const given = limits.giveBack('preview', of);
    await until(() => held.length > answers);
    moved.advance(PATIENCE_MS);
    await given;
    expect((await takeInSilence(of)).remaining).toBe(59);
  });

  test('counts a request in the process if Redis answers late, and does not treat Redis as unavailable', async () => {
    const of = address();
    expect((await takeInSilence(of)).remaining).toBe(59);
    expect([insured, limits.usesFallback()]).toEqual([[of], false]);
    release();
    await limits.take('preview', address());
    moved.advance(60_000);
    await takeInSilence();
    expect([said, limits.usesFallback()]).toEqual([[], false]);
    release();
  });

  test.each([
    [SILENCE_MS - 1, false],
    [SILENCE_MS, true],
  ])('after %d ms without an answer, treats Redis as unavailable: %s', async (silence, isAway) => {
    await takeInSilence();
    moved.advance(silence - PATIENCE_MS);
    await takeInSilence();
    expect(limits.usesFallback()).toBe(isAway);
    expect(said).toEqual(isAway ? ['Redis unavailable, rate limits counted in this process'] : []);
  });

  test('sends nothing to an unavailable Redis for 1 s, and uses Redis again after its next answer', async () => {
    await takeInSilence();
    moved.advance(SILENCE_MS);
    await takeInSilence();
    expect(limits.usesFallback()).toBe(true);
    const asked = held.length;
    const of = address();
    moved.advance(PAUSE_MS - 1);
    expect((await limits.take('preview', of)).remaining).toBe(59);
    await limits.giveBack('preview', of);
    expect([held.length, insured.at(-1)]).toEqual([asked, of]);

    moved.advance(1);
    const giving = limits.giveBack('preview', of);
    await until(() => held.length === asked + 1);
    moved.advance(PATIENCE_MS);
    await giving;
    await takeInSilence();
    expect([held.length, limits.usesFallback()]).toEqual([asked + 2, true]);
    // A late answer is useless for its own request, but shows that Redis is available.
    release();
    await until(() => !limits.usesFallback());
    expect(said).toEqual([
      'Redis unavailable, rate limits counted in this process',
      'Redis available, rate limits shared again',
    ]);
    const before = insured.length;
    expect((await limits.take('preview', address())).remaining).toBe(59);
    expect(insured).toHaveLength(before);
  });

  /** Counts one request while Redis is silent and the patience timer fires late. */
  const takeWhenLate = async (ms: number) => {
    holding = true;
    const of = address();
    const taking = limits.take('preview', of);
    await until(() => held.length > 0);
    moved.advance(PATIENCE_MS + ms);
    return { of, taking };
  };

  test('reads an answer that arrived before the timer of a busy process fired', async () => {
    holding = true;
    const taking = limits.take('preview', address());
    await until(() => held.length > 0);
    // The answer is in the socket, and the process reads it in the next turn.
    release();
    moved.advance(PATIENCE_MS);
    expect((await taking).remaining).toBe(59);
    expect(insured).toEqual([]);
  });

  test('waits a little longer for Redis if the timer of the process fired late', async () => {
    const { taking } = await takeWhenLate(11);
    await until(() => moved.waiting() === 1);
    release();
    expect((await taking).remaining).toBe(59);
    expect(insured).toEqual([]);
  });

  test('counts in the process if Redis gives no answer in the extra time after a late timer', async () => {
    const { of, taking } = await takeWhenLate(11);
    await until(() => moved.waiting() === 1);
    moved.advance(15);
    await taking;
    expect(insured).toEqual([of]);
  });

  test('counts in the process at once if the timer fired only 10 ms late', async () => {
    const { of, taking } = await takeWhenLate(10);
    await taking;
    expect(insured).toEqual([of]);
  });

  test('counts a request in the process if Redis answers with an error', async () => {
    const of = address();
    const shared = createClient({ url: redisUrl });
    await shared.connect();
    await shared.lPush(`lead-intake:preview:${of}`, 'not a number');
    expect((await limits.take('preview', of)).remaining).toBe(59);
    expect(insured).toEqual([of]);
    await shared.del(`lead-intake:preview:${of}`);
    shared.destroy();
  });

  test('logs once that the connection to Redis is lost, and once that Redis is available again', async () => {
    for (const socket of sockets) socket.destroy();
    await until(() => limits.usesFallback());
    await until(async () => {
      await limits.take('preview', address());
      return !limits.usesFallback();
    });
    expect(said).toEqual([
      'Redis unavailable, rate limits counted in this process',
      'Redis available, rate limits shared again',
    ]);
  });

  test('treats Redis as unavailable from the start if it can’t connect', async () => {
    const opening = open('redis://127.0.0.1:1');
    await until(() => moved.waiting() === 1);
    moved.advance(1_000);
    const nowhere = await opening;
    await until(() => nowhere.usesFallback());
    expect((await nowhere.take('preview', address())).remaining).toBe(59);
    expect(said).toEqual(['Redis unavailable, rate limits counted in this process']);
    await nowhere.close();
  });

  test('closes the connection and the local fallback on close', async () => {
    const connections = () => [...sockets].filter(({ destroyed }) => !destroyed).length;
    const before = connections();
    const other = await open(url);
    await until(() => connections() === before + 2);
    await other.close();
    await until(() => connections() === before);
    expect(insuranceClosed).toBe(true);
  });
});
