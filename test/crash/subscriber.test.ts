/**
 * Kills a process while a subscriber confirms or unsubscribes (reference §9.3). The database then has both the new
 * status and its event, or neither. The event is delivered automatically, under one id: with SQLite after a restart,
 * with PostgreSQL by a second instance.
 */
import { afterAll, beforeAll, describe, expect, type TestContext, test, vi } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import type { Storage } from '../../src/storage/database.ts';
import type { SubscriberRow } from '../../src/storage/schema.ts';
import { confirm, leave, newSubscriber } from '../newsletter/rig.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { injected } from '../support/injected.ts';
import type { ProcessOptions, ServiceProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { crashingAt, endDelays, expireLeases, LOOKED_WITHIN_MS, startFor } from './crashing.ts';

vi.setConfig({ testTimeout: 120_000 });

/** More statements than one click has. */
const STATEMENTS = 16;
const POINTS = ['after the claim', 'before the send', 'after the answer', 'before the settle'];

type Press = 'confirmed' | 'unsubscribed';
const presses = { confirmed: confirm, unsubscribed: leave };

let upstream: ProgrammableUpstream;
beforeAll(async () => {
  upstream = await startUpstream();
});
afterAll(() => upstream.close());

/** Returns the id and the exact body of each delivery of the event of this click. */
function seen({ email }: SubscriberRow, press: Press): { id: unknown; body: string }[] {
  return upstream.delivered
    .filter(({ body, event }) => body.includes(email) && event.type === `subscriber.${press}`)
    .map(({ headers, body }) => ({ id: headers['webhook-id'], body }));
}

/** Opens the database only during `act`. Otherwise only the service has it open. */
async function using<T>(database: TestDatabase, act: (storage: Storage) => Promise<T>): Promise<T> {
  const storage = await database.open(systemClock);
  try {
    return await act(storage);
  } finally {
    await storage.close();
  }
}

/** Returns the stored state and events of subscribers. */
function stored(database: TestDatabase) {
  return using(database, async (storage) => {
    const [subscribers, submissions] = await Promise.all([
      storage.read((db) => db.selectFrom('subscribers').selectAll()),
      storage.read((db) => db.selectFrom('submissions').selectAll()),
    ]);
    return {
      statusOf: ({ id }: SubscriberRow) => subscribers.find((row) => row.id === id)?.status,
      eventsOf: ({ id }: SubscriberRow, press: Press) =>
        submissions.filter((row) => row.subscriber_id === id && row.event.includes(`"subscriber.${press}"`)),
    };
  });
}

/** Clicks a button of a process that dies at its crash point. Returns true if the click got an answer before. */
async function clickUntilCrash(service: ServiceProcess, row: SubscriberRow, press: Press): Promise<boolean> {
  const answer = await presses[press](service, row).catch(() => undefined);
  await service.exited;
  return answer !== undefined;
}

/** Kills the process while the upstream holds the request with the event of this click open. */
function killInMidSend(service: ServiceProcess, row: SubscriberRow, press: Press): void {
  const usual = upstream.answer;
  upstream.answer = (response, delivered) => {
    const isTheirs = delivered.body.includes(row.email) && delivered.event.type.endsWith(press);
    if (isTheirs && seen(row, press).length === 1) service.kill('SIGKILL');
    else usual(response, delivered);
  };
}

type Killed = { row: SubscriberRow; press: Press; point: string; left: string };

/** Checks that a crash leaves both state and event, or neither. Returns the status of the event. */
async function leftBy(
  database: TestDatabase,
  { row, press, point }: Omit<Killed, 'left'>,
  told: boolean,
): Promise<string> {
  const { statusOf, eventsOf } = await stored(database);
  const [event, ...others] = eventsOf(row, press);
  const status = event === undefined ? 'pending' : press;
  expect([point, statusOf(row), others]).toEqual([point, status, []]);
  // An answered click is stored, and nothing is sent before it is stored.
  if (told) expect([point, status]).toEqual([point, press]);
  if (event === undefined) expect([point, seen(row, press)]).toEqual([point, []]);
  return event?.status ?? 'nothing';
}

/** Checks that each event is stored once, and was delivered once or twice under one id with one body. */
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

describe.for(databases)('click of a subscriber on a mailed link whose process is killed, on %s', ([name, create]) => {
  const isServer = name === 'PostgreSQL';
  const points = [...POINTS, ...(isServer ? ['as the commit is sent'] : []), 'in mid-send'];
  const killed: Killed[] = [];
  const people: SubscriberRow[] = [];
  let database: TestDatabase;
  let first: ServiceProcess;

  const start = ({ environment, ...options }: ProcessOptions = {}) =>
    startFor(upstream, { ...options, environment: { DATABASE_URL: database.url, ...environment } });

  beforeAll(async () => {
    database = await create();
    first = await start();
    await using(database, async (storage) => {
      const at = { url: first.url, parts: { storage } };
      for (let count = 2 * (STATEMENTS + points.length); count > 0; count -= 1) people.push(await newSubscriber(at));
    });
    if (!isServer) await first.end();
  });
  afterAll(async () => {
    await first.end();
    await database.remove();
  });

  /** Kills a process at a point of a subscriber's click. Returns the status of the event after that. */
  async function kill(context: TestContext, press: Press, point: string): Promise<string> {
    const row = people.pop() ?? expect.fail();
    const isMidSend = point === 'in mid-send';
    const service = await start(isMidSend ? {} : crashingAt(point));
    if (isMidSend) killInMidSend(service, row, press);
    const told = await clickUntilCrash(service, row, press);
    injected(context, `subscriber: kill -9 ${point.replace(/ \d+$/, 's')}, ${name}`);
    const left = await leftBy(database, { row, press, point }, told);
    killed.push({ row, press, point, left });
    return left;
  }

  const all = (['confirmed', 'unsubscribed'] as const).flatMap((press) => points.map((point) => ({ press, point })));
  test.for(all)(
    'stores both status and event, or none of them, if killed $point ($press)',
    async ({ press, point }, context) => {
      await kill(context, press, point);
    },
  );

  test.for(['confirmed', 'unsubscribed'] as const)(
    'stores both status and event, or none of them, if killed after any statement (%s)',
    async (press, context) => {
      const lefts: string[] = [];
      for (let n = 1; lefts.at(-1) !== 'delivered'; n += 1) lefts.push(await kill(context, press, `statement ${n}`));
      // Statements of periodic jobs count as well, so a phase may get no crash here. The named points cover each phase.
      expect(lefts).toEqual(expect.arrayContaining(['nothing', 'delivered']));
    },
  );

  test('after the crashes, a new process delivers every event under its one id', async () => {
    await using(database, expireLeases);
    const healthy = isServer ? first : await start();
    for (const { row, press, left } of killed) {
      if (left === 'nothing') await presses[press](healthy, row);
    }
    const untilAll = (isSo: (status: string | undefined) => boolean) =>
      until(async () => {
        const { eventsOf } = await stored(database);
        return killed.every(({ row, press }) => isSo(eventsOf(row, press)[0]?.status));
      }, LOOKED_WITHIN_MS);
    await untilAll((status) => status === 'waiting' || status === 'delivered');
    await using(database, endDelays);
    await untilAll((status) => status === 'delivered');
    await expectOneEvent(database, killed);
    await healthy.end();
  });
});
