/**
 * Presses that come at the same moment at two processes over one database, each a hundred times (beyond §6): one event
 * for each that counts, and whoever is told of both knows by their times how the subscriber stands.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import type { Storage } from '../../../src/storage/database.ts';
import type { SubscriberRow } from '../../../src/storage/subscriber-schema.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';
import { confirm, leave, newSubscriber, rowOf, subscribe } from '../rig.ts';

const TIMES = 100;
/** So many at a time: the rest of a machine works, too. */
const AT_ONCE = 10;

describe.each(databases)('two processes over one database, on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  let upstream: ProgrammableUpstream;
  let one: ServiceProcess;
  let other: ServiceProcess;
  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    const environment = {
      DATABASE_URL: database.url,
      UPSTREAM_URL: upstream.url,
      LOG_LEVEL: 'error',
    };
    one = await startProcess({ environment });
    other = await startProcess({ environment });
    storage = await database.open(systemClock);
  });
  afterAll(async () => {
    await Promise.all([one.end(), other.end()]);
    await storage.close();
    await upstream.close();
    await database.remove();
  });

  type Run = (row: SubscriberRow, here: ServiceProcess, there: ServiceProcess) => Promise<unknown>;
  const at = () => ({ url: one.url, parts: { storage } });

  /** Runs what races, the two processes in turn; returns how each subscriber stands, and the events in order. */
  async function race(run: Run, before: Run = async () => {}): Promise<string[]> {
    const ends: string[] = [];
    for (let done = 0; done < TIMES; done += AT_ONCE) {
      const rows = await Promise.all(Array.from({ length: AT_ONCE }, () => newSubscriber(at())));
      await Promise.all(rows.map((row) => before(row, one, other)));
      await Promise.all(
        rows.map((row, n) => (n % 2 === 0 ? run(row, one, other) : run(row, other, one))),
      );
      for (const row of rows) ends.push(await endOf(row));
    }
    return ends;
  }

  /** Each event has come once, under an id of its own; the last one by its time says what the row says. */
  async function endOf({ id, email }: SubscriberRow): Promise<string> {
    const ids = (status: 'sending' | 'delivered') =>
      storage.read((db) =>
        db
          .selectFrom('submissions')
          .select('id')
          .where('subscriber_id', '=', id)
          .where('status', '=', status),
      );
    await until(async () => (await ids('sending')).length === 0);
    const events = upstream.delivered.filter(({ body }) => body.includes(`"${email}"`));
    const kept = (await ids('delivered')).map((row) => row.id).sort();
    expect(events.map(({ headers }) => headers['webhook-id']).sort()).toEqual(kept);

    const inOrder = events
      .map(({ event }) => event)
      .sort((left, right) => (left.timestamp < right.timestamp ? -1 : 1));
    expect(new Set(inOrder.map(({ timestamp }) => timestamp)).size).toBe(inOrder.length);
    const row = (await rowOf(at(), email)) ?? expect.fail();
    const told = inOrder.map(({ type }) => type.replace('subscriber.', ''));
    expect([told, inOrder.at(-1)?.data.status]).toEqual([told, row.status]);
    return [row.status, ...told].join(', ');
  }

  test('confirmations: one event', async () => {
    const ends = await race((row, here, there) =>
      Promise.all([here, there, here, there].map((service) => confirm(service, row))),
    );
    expect(new Set(ends)).toEqual(new Set(['confirmed, created, confirmed']));
  });

  test('leaves, before and after a confirmation: one event', async () => {
    const everywhere: Run = (row, here, there) =>
      Promise.all([here, there, here, there].map((service) => leave(service, row)));
    expect(new Set(await race(everywhere))).toEqual(
      new Set(['unsubscribed, created, unsubscribed']),
    );
    const confirmed = await race(everywhere, (row, here) => confirm(here, row));
    expect(new Set(confirmed)).toEqual(new Set(['unsubscribed, created, confirmed, unsubscribed']));
  });

  test('a confirmation against a leave: they have left, and the last event says so', async () => {
    const ends = await race((row, here, there) =>
      Promise.all([confirm(here, row), leave(there, row)]),
    );
    const either = [
      'unsubscribed, created, unsubscribed',
      'unsubscribed, created, confirmed, unsubscribed',
    ];
    for (const end of ends) expect(end).toBeOneOf(either);
  });

  test('a leave against another subscription: whichever counts last is the last that is told', async () => {
    const ends = await race(
      (row, here, there) => Promise.all([leave(here, row), subscribe(there, row.email)]),
      (row, here) => confirm(here, row),
    );
    expect(ends).toHaveLength(TIMES);
  });
});
