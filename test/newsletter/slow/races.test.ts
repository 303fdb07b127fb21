/**
 * Simultaneous clicks at two processes over one database, a hundred times each (reference §9.3). Each counted click
 * leads to one event, and the times of the events show the subscriber's last status.
 */
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../src/platform/clock.ts';
import type { Storage } from '../../../src/storage/database.ts';
import type { SubscriberRow } from '../../../src/storage/schema.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { type ServiceProcess, startProcess } from '../../support/process.ts';
import { until } from '../../support/until.ts';
import { type ProgrammableUpstream, startUpstream } from '../../support/upstream.ts';
import { confirm, leave, newSubscriber, rowOf, subscribe } from '../rig.ts';

const TIMES = 100;
/** Subscribers at a time, so that the machine is not overloaded. */
const AT_ONCE = 10;

describe.each(databases)('newsletter clicks at two processes, on %s', (_name, create) => {
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

  /** Runs the race with the processes in turn. Returns each subscriber's status and events, in order. */
  async function race(run: Run, before: Run = async () => {}): Promise<string[]> {
    const ends: string[] = [];
    for (let done = 0; done < TIMES; done += AT_ONCE) {
      const rows = await Promise.all(Array.from({ length: AT_ONCE }, () => newSubscriber(at())));
      await Promise.all(rows.map((row) => before(row, one, other)));
      await Promise.all(rows.map((row, n) => (n % 2 === 0 ? run(row, one, other) : run(row, other, one))));
      for (const row of rows) ends.push(await endOf(row));
    }
    return ends;
  }

  /** Checks that each event came once, under its own id, and that the last event has the row's status. */
  async function endOf({ id, email }: SubscriberRow): Promise<string> {
    const ids = (status: 'sending' | 'delivered') =>
      storage.read((db) =>
        db.selectFrom('submissions').select('id').where('subscriber_id', '=', id).where('status', '=', status),
      );
    await until(async () => (await ids('sending')).length === 0);
    const events = upstream.delivered.filter(({ body }) => body.includes(`"${email}"`));
    const kept = (await ids('delivered')).map((row) => row.id).sort();
    expect(events.map(({ headers }) => headers['webhook-id']).sort()).toEqual(kept);

    const inOrder = events.map(({ event }) => event).sort((left, right) => (left.timestamp < right.timestamp ? -1 : 1));
    expect(new Set(inOrder.map(({ timestamp }) => timestamp)).size).toBe(inOrder.length);
    const row = (await rowOf(at(), email)) ?? expect.fail();
    const told = inOrder.map(({ type }) => type.replace('subscriber.', ''));
    expect([told, inOrder.at(-1)?.data.status]).toEqual([told, row.status]);
    return [row.status, ...told].join(', ');
  }

  test('sends one event for four simultaneous confirmations of one subscriber', async () => {
    const ends = await race((row, here, there) =>
      Promise.all([here, there, here, there].map((service) => confirm(service, row))),
    );
    expect(new Set(ends)).toEqual(new Set(['confirmed, created, confirmed']));
  });

  test('sends one event for four simultaneous unsubscribes, with and without an earlier confirmation', async () => {
    const everywhere: Run = (row, here, there) =>
      Promise.all([here, there, here, there].map((service) => leave(service, row)));
    expect(new Set(await race(everywhere))).toEqual(new Set(['unsubscribed, created, unsubscribed']));
    const confirmed = await race(everywhere, (row, here) => confirm(here, row));
    expect(new Set(confirmed)).toEqual(new Set(['unsubscribed, created, confirmed, unsubscribed']));
  });

  test('ends as unsubscribed, with that status in the last event, when a confirmation and an unsubscribe race', async () => {
    const ends = await race((row, here, there) => Promise.all([confirm(here, row), leave(there, row)]));
    const either = ['unsubscribed, created, unsubscribed', 'unsubscribed, created, confirmed, unsubscribed'];
    for (const end of ends) expect(end).toBeOneOf(either);
  });

  test('the last event has the final status when an unsubscribe and a new subscription race', async () => {
    const ends = await race(
      (row, here, there) => Promise.all([leave(here, row), subscribe(there, row.email)]),
      (row, here) => confirm(here, row),
    );
    expect(ends).toHaveLength(TIMES);
  });
});
