/** More concurrent sends than connections, to an upstream that does not answer (reference §10.4, §5.11). */
import { afterEach, beforeEach, expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { openHttpUpstream } from '../../src/upstream/http.ts';
import type { RemoteUpstream } from '../../src/upstream/upstream.ts';
import { until } from '../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { eventOf, freely } from './event.ts';

/** Same value as `CONNECTIONS` in `src/upstream/http.ts`. */
const CONNECTIONS = 128;
const unconfirmed = { kind: 'unconfirmed', reason: 'The upstream did not answer in time.' };
const confirmed = { kind: 'confirmed', known: false, status: 200 };

let receiver: ProgrammableUpstream;
let upstream: RemoteUpstream;
let timers: Set<() => void>;
/** Fires all timeouts that were not cancelled. */
const timeOut = () => {
  for (const fallDue of timers) fallDue();
};
beforeEach(async () => {
  timers = new Set();
  receiver = await startUpstream();
  upstream = openHttpUpstream({
    url: receiver.url,
    secrets: [],
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
  Promise.all(Array.from({ length: count }, (_, n) => upstream.deliver(eventOf(`${name}-${n}`), freely)));
const arrived = (name: string) =>
  receiver.delivered.filter(({ event }) => String(event.data.id).startsWith(name)).length;

test('deliver never sends an event that got no connection before its timeout', async () => {
  receiver.answer = () => {};
  const delivering = deliverMany(2 * CONNECTIONS, 'waited');
  await until(() => arrived('waited') === CONNECTIONS);
  timeOut();
  const outcomes = await delivering;
  // Events that got no connection are proven unsent, the others are not.
  const unsent = { ...unconfirmed, unsent: true };
  expect(outcomes).toEqual(outcomes.map((_, n) => (n < CONNECTIONS ? unconfirmed : unsent)));
  receiver.answer = answering(200);
  // Connections are assigned in order, so the earlier events would have been sent first.
  expect(await deliverMany(2 * CONNECTIONS, 'later')).toEqual(outcomes.map(() => confirmed));
  expect(arrived('waited')).toBe(CONNECTIONS);
});

test('deliver closes the connection if no answer arrives in time', async () => {
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

test('deliver sends the next event after all connections waited for answers until their timeouts', async () => {
  receiver.answer = () => {};
  const delivering = deliverMany(CONNECTIONS, 'hung');
  await until(() => arrived('hung') === CONNECTIONS);
  timeOut();
  await delivering;
  receiver.answer = answering(200);
  expect(await deliverMany(1, 'next')).toEqual([confirmed]);
});
