/** Liveness and readiness (reference §21.1). */
import type { AddressInfo } from 'node:net';
import fastify from 'fastify';
import { describe, expect, test } from 'vitest';
import { answersInTime, registerHealth } from '../../src/server/health.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { steppedClock, testClock } from '../support/clock.ts';

type Check = Storage['check'];

const working: Check = async () => {};
const failing: Check = () => Promise.reject(new StorageUnavailable('gone'));

/** Answers a GET with the health routes over a store with this check. */
async function get(path: string, check: Check, draining = false) {
  const app = fastify();
  registerHealth(app, { storage: { check } as Storage, clock: testClock(), isDraining: () => draining });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}${path}`);
  const { status, headers } = answer;
  const body = await answer.json();
  await app.close();
  return { status, body, caching: headers.get('cache-control') };
}

describe('health', () => {
  test.each<[string, Check, boolean, number, string]>([
    ['/healthz', working, false, 200, 'ok'],
    ['/healthz', failing, true, 200, 'ok'],
    ['/readyz', working, false, 200, 'ready'],
    ['/readyz', failing, false, 503, 'store unavailable'],
    ['/readyz?exclude=store', failing, false, 200, 'ready'],
    ['/readyz?exclude=stores', failing, false, 503, 'store unavailable'],
    ['/readyz', working, true, 503, 'draining'],
    ['/readyz?exclude=store', working, true, 503, 'draining'],
  ])('%s', async (path, check, draining, status, word) => {
    expect(await get(path, check, draining)).toEqual({ status, body: { status: word }, caching: 'no-store' });
  });
});

describe('answersInTime', () => {
  test('is false for a store that has not answered after two seconds', async () => {
    const clock = steppedClock();
    const { promise, resolve } = Promise.withResolvers<void>();
    let answered: boolean | undefined;
    const asked = answersInTime({ check: () => promise }, clock).then((answer) => {
      answered = answer;
    });
    clock.advance(1_999);
    await Promise.resolve();
    expect(answered).toBeUndefined();
    clock.advance(1);
    await asked;
    expect(answered).toBe(false);
    resolve();
  });

  test('leaves no timer behind an answer', async () => {
    const clock = testClock();
    const cancelled: number[] = [];
    const after = (ms: number) => () => void cancelled.push(ms);
    expect(await answersInTime({ check: working }, { ...clock, after })).toBe(true);
    expect(await answersInTime({ check: failing }, { ...clock, after })).toBe(false);
    expect(cancelled).toEqual([2_000, 2_000]);
  });
});
