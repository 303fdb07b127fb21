/** More sends at once than there are connections, to an upstream that says nothing (contract §3, §4). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { RemoteUpstream } from '../../src/upstream/upstream.ts';
import { until } from '../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { eventOf, freely } from './event.ts';

/** As many as `CONNECTIONS` in `src/upstream/http.ts`. */
const CONNECTIONS = 128;
const unconfirmed = { kind: 'unconfirmed', reason: 'The upstream did not answer in time.' };
const confirmed = { kind: 'confirmed', known: false };

let receiver: ProgrammableUpstream;
let upstream: RemoteUpstream;
let timers: Set<() => void>;
/** Every time-out that was not called off falls due. */
const timeOut = () => {
  for (const fallDue of timers) fallDue();
};
beforeEach(async () => {
  timers = new Set();
  receiver = await startUpstream();
  upstream = openHttpUpstream({
    url: receiver.url,
    secret: undefined,
    timeoutMs: 20_000,
    clock: {
      ...systemClock,
      after: (_ms, fallDue) => {
        timers.add(fallDue);
        return () => timers.delete(fallDue);
      },
    },
  });
});
afterEach(async () => {
  await upstream.close();
  await receiver.close();
});

const deliverMany = (count: number, name: string) =>
  Promise.all(
    Array.from({ length: count }, (_, n) => upstream.deliver(eventOf(`${name}-${n}`), freely)),
  );
const arrived = (name: string) =>
  receiver.delivered.filter(({ event }) => String(event.data.id).startsWith(name)).length;

test('what waited for a connection until its time-out is not sent when one is free again', async () => {
  receiver.answer = () => {};
  const delivering = deliverMany(2 * CONNECTIONS, 'waited');
  await until(() => arrived('waited') === CONNECTIONS);
  timeOut();
  const outcomes = await delivering;
  // What had no connection yet is proven unsent, and the rest is not.
  const unsent = { ...unconfirmed, unsent: true };
  expect(outcomes).toEqual(outcomes.map((_, n) => (n < CONNECTIONS ? unconfirmed : unsent)));
  receiver.answer = answering(200);
  // Connections are given in order: once these were sent, the others had their turn.
  expect(await deliverMany(2 * CONNECTIONS, 'later')).toEqual(outcomes.map(() => confirmed));
  expect(arrived('waited')).toBe(CONNECTIONS);
});

test('an answer that has not come in time is not waited for: its connection is closed', async () => {
  let isClosed = false;
  receiver.answer = (response) => {
    response.on('close', () => {
      isClosed = true;
    });
  };
  const delivering = deliverMany(1, 'hung');
  await until(() => arrived('hung') === 1);
  expect(isClosed).toBe(false);
  timeOut();
  expect(await delivering).toEqual([unconfirmed]);
  await until(() => isClosed);
});

test('as many answers that never come as there are connections keep none from the next', async () => {
  receiver.answer = () => {};
  const delivering = deliverMany(CONNECTIONS, 'hung');
  await until(() => arrived('hung') === CONNECTIONS);
  timeOut();
  await delivering;
  receiver.answer = answering(200);
  expect(await deliverMany(1, 'next')).toEqual([confirmed]);
});
