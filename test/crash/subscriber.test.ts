/**
 * A process that is killed while a subscriber confirms or leaves (beyond §6): what it leaves is the state with its
 * event, or neither, and the event comes by itself, under one id: to SQLite after a restart, to PostgreSQL by an
 * instance beside it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { systemClock } from '../../src/clock.ts';
import type { SubscriberRow } from '../../src/storage/subscriber-schema.ts';
import { confirm, leave, newSubscriber } from '../newsletter/rig.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { injected } from '../support/injected.ts';
import type { ProcessOptions, ServiceProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { crashingAt, LEASE_MS, startFor } from './crashing.ts';

// The tests wait for leases and schedules, not for the processor.
vi.setConfig({ testTimeout: 280_000 });

/** A lease, and a minute, a tenth more or less; then each is looked for every five seconds. */
const REDELIVERED_WITHIN_MS = 4 * LEASE_MS + 90_000;
/** More than there are points. */
const PEOPLE = 60;
const POINTS = ['after the claim', 'before the send', 'after the answer', 'before the settle'];

type Press = 'confirmed' | 'unsubscribed';
const presses = { confirmed: confirm, unsubscribed: leave };

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

/** Every delivery of what a press says: the id, and the body byte for byte. */
function seen({ email }: SubscriberRow, press: Press): { id: unknown; body: string }[] {
  return upstream.delivered
    .filter(({ body, event }) => body.includes(email) && event.type === `subscriber.${press}`)
    .map(({ headers, body }) => ({ id: headers['webhook-id'], body }));
}

/** What is in the database: nobody has it open but while this reads. */
async function stored(database: TestDatabase) {
  const storage = await database.open(systemClock);
  try {
    const [subscribers, submissions] = await Promise.all([
      storage.read((db) => db.selectFrom('subscribers').selectAll()),
      storage.read((db) => db.selectFrom('submissions').selectAll()),
    ]);
    return {
      statusOf: ({ id }: SubscriberRow) => subscribers.find((row) => row.id === id)?.status,
      eventsOf: ({ id }: SubscriberRow, press: Press) =>
        submissions.filter(
          (row) => row.subscriber_id === id && row.event.includes(`"subscriber.${press}"`),
        ),
    };
  } finally {
    await storage.close();
  }
}

/** Presses; returns whether its page was answered, and whether the process lives on once the event has arrived. */
async function pressAt(service: ServiceProcess, row: SubscriberRow, press: Press) {
  let exited = false;
  service.exited.then(() => {
    exited = true;
  });
  const answer = await presses[press](service, row).catch(() => undefined);
  await until(() => exited || seen(row, press).length > 0);
  // Its end is written after that, by statements of their own.
  await until(() => exited, 700).catch(() => {});
  await service.end();
  return { told: answer !== undefined, lives: !exited };
}

/** Has this process killed while the upstream holds the request open that tells of this press. */
function killInMidSend(service: ServiceProcess, row: SubscriberRow, press: Press): void {
  const usual = upstream.answer;
  upstream.answer = (response, delivered) => {
    const isTheirs = delivered.body.includes(row.email) && delivered.event.type.endsWith(press);
    if (isTheirs && seen(row, press).length === 1) service.kill('SIGKILL');
    else usual(response, delivered);
  };
}

type Killed = { row: SubscriberRow; press: Press; point: string; left: string };

/** What every crash must leave: the state and its event, or neither; returns how the event stands. */
async function leftBy(
  database: TestDatabase,
  { row, press, point }: Omit<Killed, 'left'>,
  told: boolean,
): Promise<string> {
  const { statusOf, eventsOf } = await stored(database);
  const [event, ...others] = eventsOf(row, press);
  const status = event === undefined ? 'pending' : press;
  expect([point, statusOf(row), others]).toEqual([point, status, []]);
  // Who was shown the next page has done it, and nobody is told before it is so.
  if (told) expect([point, status]).toEqual([point, press]);
  if (event === undefined) expect([point, seen(row, press)]).toEqual([point, []]);
  return event?.status ?? 'nothing';
}

/** In the end each has its event: stored once, and delivered under one id with one body, twice at most. */
async function expectOneEvent(database: TestDatabase, killed: readonly Killed[]): Promise<void> {
  const { statusOf, eventsOf } = await stored(database);
  for (const { row, press, point } of killed) {
    const [event, ...others] = eventsOf(row, press);
    expect([point, statusOf(row), others]).toEqual([point, press, []]);
    const arrived = seen(row, press);
    const once = { id: event?.id, body: event?.event };
    expect([point, arrived]).toEqual([point, Array(arrived.length).fill(once)]);
    expect(arrived.length).toBeOneOf([1, 2]);
  }
}

describe.concurrent('kill -9 between a subscriber’s press and its event', () => {
  test.for(databases)(
    'on %s, at every point: both are kept or neither, and the event comes by itself, under one id',
    async ([name, create], context) => {
      const isServer = name === 'PostgreSQL';
      const database = await create();
      context.onTestFinished(() => database.remove());
      const start = ({ environment, ...options }: ProcessOptions = {}) =>
        startFor(upstream, {
          ...options,
          environment: { DATABASE_URL: database.url, ...environment },
        });
      const first = await start();
      const storage = await database.open(systemClock);
      const at = { url: first.url, parts: { storage } };
      const people = await Promise.all(Array.from({ length: PEOPLE }, () => newSubscriber(at)));
      await storage.close();
      if (!isServer) await first.end();

      const killed: Killed[] = [];
      async function kill(point: string, press: Press): Promise<string> {
        const row = people.pop() ?? expect.fail();
        const isMidSend = point === 'in mid-send';
        const service = await start(isMidSend ? {} : crashingAt(point));
        if (isMidSend) killInMidSend(service, row, press);
        const { told, lives } = await pressAt(service, row, press);
        expect([point, lives]).toEqual([point, false]);
        injected(context, `subscriber: kill -9 ${point.replace(/ \d+$/, 's')}, ${name}`);
        const left = await leftBy(database, { row, press, point }, told);
        killed.push({ row, press, point, left });
        return left;
      }
      for (const press of ['confirmed', 'unsubscribed'] as const) {
        let left = '';
        for (let n = 1; left !== 'delivered'; n += 1) left = await kill(`statement ${n}`, press);
        for (const point of POINTS) await kill(point, press);
        if (isServer) await kill('as the commit is sent', press);
        await kill('in mid-send', press);
      }
      const lefts = killed.map(({ left }) => left);
      expect(lefts).toEqual(expect.arrayContaining(['nothing', 'sending', 'delivered']));

      const healthy = isServer ? first : await start();
      for (const { row, press, left } of killed) {
        if (left === 'nothing') await presses[press](healthy, row);
      }
      await until(async () => {
        await sleep(1_000);
        const { eventsOf } = await stored(database);
        return killed.every(({ row, press }) => eventsOf(row, press)[0]?.status === 'delivered');
      }, REDELIVERED_WITHIN_MS);
      await expectOneEvent(database, killed);
      await healthy.end();
    },
  );
});
