import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openNewsletterSweep } from '../../src/newsletter/sweep.ts';
import { noMetrics } from '../../src/platform/metrics.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { openRedelivery } from '../../src/submissions/redelivery.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { errorsIn, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { ask, confirm, leave, messagesTo, newSubscriber, reader, rowOf, subscribe } from './rig.ts';

const DAY_MS = 86_400_000;
const clock = testClock();

describe.each(databases)('states of a subscriber, on %s (reference §9.1)', (_name, create) => {
  let database: TestDatabase;
  let upstream: ProgrammableUpstream;
  let service: Service;

  beforeAll(async () => {
    database = await create();
    upstream = await startUpstream();
    service = await startService({
      clock,
      environment: { DATABASE_URL: database.url, UPSTREAM_URL: upstream.url },
    });
  });
  beforeEach(() => {
    upstream.answer = answering(200);
    upstream.delivered.length = 0;
    clock.advance(1_000);
  });
  afterAll(async () => {
    await service.close();
    await upstream.close();
    await database.remove();
  });

  const types = () => upstream.delivered.map(({ event }) => event.type);
  const events = (email: string) =>
    upstream.delivered
      .map(({ event }) => event)
      .filter(({ data }) => (data.fields as { email: string }).email === email);
  const heard = (count: number) => until(() => upstream.delivered.length === count);
  const sweep = () => {
    const { storage, log } = service.parts;
    return openNewsletterSweep({ storage, clock, log, metrics: noMetrics }).work();
  };

  test('sends the stored body if the answer to the commit is lost and the status changed before the repeated commit', async () => {
    const email = reader();
    const { storage } = service.parts;
    const { write } = storage;
    let lost = false;
    storage.write = (async (change: Parameters<typeof write>[0]) => {
      const written = await write(change);
      // Jobs of the service write as well.
      if (lost || (await rowOf(service, email)) === undefined) return written;
      lost = true;
      await write((tx) =>
        tx.updateTable('subscribers').set({ status: 'unsubscribed' }).where('email', '=', email).execute(),
      );
      throw new StorageUnavailable('Its answer was lost.');
    }) as typeof write;
    try {
      expect(await subscribe(service, email)).toBe(200);
    } finally {
      storage.write = write;
    }
    const [kept] = await storage.read((db) => db.selectFrom('submissions').select('event').where('email', '=', email));
    expect(upstream.delivered.map(({ body }) => body)).toEqual([kept?.event]);
    expect(kept?.event).toContain('"status":"pending"');
    expect([lost, (await rowOf(service, email))?.status]).toEqual([true, 'unsubscribed']);
  });

  test('starts as pending, confirms once for three clicks, and unsubscribes with one request', async () => {
    const row = await newSubscriber(service);
    expect(row).toMatchObject({ status: 'pending', contractor: 'acme', confirmed_at: null });
    const unsubscribeUrl = `${service.url}/newsletter/leave/${row.leave_token}`;
    const shared = {
      unsubscribe_url: unsubscribeUrl,
      consent_recorded_at: row.consent_recorded_at,
    };
    expect(events(row.email)[0]?.data).toMatchObject({ status: 'pending', ...shared });
    expect(await messagesTo(service, row.email)).toBe(1);

    clock.advance(60_000);
    const confirmedAt = clock.now().toISOString();
    for (let press = 0; press < 3; press += 1) {
      const answer = await confirm(service, row);
      expect(answer.status).toBe(303);
      expect(answer.headers.get('location')).toBe(`/newsletter/confirm/${row.confirm_token}`);
    }
    await heard(2);
    clock.advance(60_000);
    const unsubscribedAt = clock.now().toISOString();
    expect((await leave(service, row)).status).toBe(200);
    expect((await leave(service, row)).status).toBe(200);
    await heard(3);
    const of = { form: 'newsletter', origin: 'browser', client: null, recipient: null, ...shared };
    const fields = { email: row.email, contractor: 'acme' };
    const id = expect.stringMatching(/^[\da-f-]{36}$/);
    expect(events(row.email).slice(1)).toEqual([
      {
        type: 'subscriber.confirmed',
        timestamp: confirmedAt,
        data: {
          ...{ ...of, id, fields, status: 'confirmed' },
          ...{ confirmed_at: confirmedAt, unsubscribed_at: null },
        },
      },
      {
        type: 'subscriber.unsubscribed',
        timestamp: unsubscribedAt,
        data: {
          ...{ ...of, id, fields, status: 'unsubscribed' },
          ...{ confirmed_at: confirmedAt, unsubscribed_at: unsubscribedAt },
        },
      },
    ]);
    expect(new Set(upstream.delivered.map(({ headers }) => headers['webhook-id'])).size).toBe(3);
  });

  test('answers a repeated link without a write, so that the link waits for no lock', async () => {
    const row = await newSubscriber(service);
    const { storage } = service.parts;
    const { write } = storage;
    const withoutWrites = async (follow: typeof confirm) => {
      await follow(service, row);
      storage.write = () => Promise.reject(new StorageUnavailable('Another process holds the lock.'));
      try {
        return (await follow(service, row)).status;
      } finally {
        storage.write = write;
      }
    };
    expect(await withoutWrites(confirm)).toBe(303);
    expect(await withoutWrites(leave)).toBe(200);
    // The confirmation of an unsubscribed row has no effect either.
    expect(await withoutWrites(confirm)).toBe(303);
  });

  test('confirms after an unsubscribe only if the person subscribes again, with the same links', async () => {
    const row = await newSubscriber(service);
    await leave(service, row);
    await heard(2);
    expect((await confirm(service, row)).status).toBe(303);
    expect((await rowOf(service, row.email))?.status).toBe('unsubscribed');
    clock.advance(1_000);
    await subscribe(service, row.email);
    const { confirm_token, leave_token } = row;
    const back = await rowOf(service, row.email);
    expect(back).toMatchObject({ status: 'pending', confirm_token, leave_token });
    expect(back).toMatchObject({ confirmed_at: null, unsubscribed_at: null });
    await confirm(service, row);
    await heard(4);
    expect(types()).toEqual([
      'subscriber.created',
      'subscriber.unsubscribed',
      'subscriber.created',
      'subscriber.confirmed',
    ]);
  });

  test('has the contractor and the consent of the new subscription after an unsubscribe, and the old links', async () => {
    const row = await newSubscriber(service);
    await confirm(service, row);
    await leave(service, row);
    clock.advance(1_000);
    expect(await subscribe(service, row.email, 'other')).toBe(200);
    expect(await rowOf(service, row.email)).toMatchObject({
      ...{ id: row.id, made_by: row.made_by, created_at: row.created_at },
      ...{ confirm_token: row.confirm_token, leave_token: row.leave_token },
      ...{ status: 'pending', contractor: 'other', confirmed_at: null, unsubscribed_at: null },
      consent_recorded_at: clock.now().toISOString(),
    });
    await service.parts.subscriptionLinks.close();
  });

  test('remains confirmed when the person subscribes again, with an event and without a message', async () => {
    const row = await newSubscriber(service);
    await confirm(service, row);
    clock.advance(2 * DAY_MS);
    await service.parts.storage.write((tx) => tx.deleteFrom('messages').execute());
    expect(await subscribe(service, row.email, 'other')).toBe(200);
    expect(events(row.email).at(-1)?.data).toMatchObject({ status: 'confirmed' });
    expect(await messagesTo(service, row.email)).toBe(0);
    expect(await rowOf(service, row.email)).toMatchObject({
      status: 'confirmed',
      contractor: 'acme',
      consent_recorded_at: row.consent_recorded_at,
      expires_at: null,
    });
  });

  test('after a 409 of the upstream, sends no message to a new subscriber, but one to a pending subscriber', async () => {
    const email = reader();
    upstream.answer = answering(409);
    expect(await subscribe(service, email)).toBe(200);
    expect(await messagesTo(service, email)).toBe(0);
    expect(await subscribe(service, email)).toBe(200);
    expect(await messagesTo(service, email)).toBe(1);
  });

  test('sends one event each for twelve simultaneous confirmations and twelve simultaneous unsubscribes', async () => {
    const row = await newSubscriber(service);
    const answers = await Promise.all(Array.from({ length: 12 }, () => confirm(service, row)));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([303]));
    await Promise.all(Array.from({ length: 12 }, () => leave(service, row)));
    await heard(3);
    await service.parts.subscriptionLinks.close();
    expect(types()).toEqual(['subscriber.created', 'subscriber.confirmed', 'subscriber.unsubscribed']);
  });

  test('expires the confirmation link seven days after the person last subscribed', async () => {
    const row = await newSubscriber(service);
    clock.advance(6 * DAY_MS);
    await subscribe(service, row.email);
    clock.advance(7 * DAY_MS - 1);
    expect((await ask(service, 'confirm', row.confirm_token)).status).toBe(200);
    clock.advance(1);
    expect((await ask(service, 'confirm', row.confirm_token)).status).toBe(404);
    expect((await confirm(service, row)).status).toBe(404);
    expect((await leave(service, row)).status).toBe(200);
    expect(await rowOf(service, row.email)).toMatchObject({ status: 'pending' });
    // The expired row gets new tokens, so that links of the old message open nothing.
    await subscribe(service, row.email);
    const anew = (await rowOf(service, row.email)) ?? expect.fail();
    const renewed = ['made_by', 'confirm_token', 'leave_token', 'created_at', 'consent_recorded_at'] as const;
    for (const column of renewed) expect([column, anew[column]]).not.toEqual([column, row[column]]);
    expect(anew.id).toBe(row.id);
    expect((await ask(service, 'confirm', row.confirm_token)).status).toBe(404);
    expect((await confirm(service, anew)).status).toBe(303);
  });

  test('extends the confirmation link if the person subscribes again while the first submission waits', async () => {
    const email = reader();
    upstream.answer = answering(500);
    expect(await subscribe(service, email)).toBe(502);
    clock.advance(DAY_MS - 60_000);
    expect(await subscribe(service, email)).toBe(502);
    expect(new Set(events(email).map(({ data }) => data.id)).size).toBe(1);
    clock.advance(7 * DAY_MS - 1);
    const { confirm_token } = (await rowOf(service, email)) ?? expect.fail();
    expect((await ask(service, 'confirm', confirm_token)).status).toBe(200);
  });

  test('deletes only unconfirmed subscribers after seven days, with their messages and submissions', async () => {
    const [gone, confirmed, left] = [
      await newSubscriber(service),
      await newSubscriber(service),
      await newSubscriber(service),
    ];
    await confirm(service, confirmed);
    await leave(service, left);
    await heard(5);
    await service.parts.subscriptionLinks.close();
    clock.advance(7 * DAY_MS);
    expect(await sweep()).toBeGreaterThanOrEqual(1);
    expect(await rowOf(service, gone.email)).toBeUndefined();
    const { storage } = service.parts;
    const kept = await storage.read((db) => db.selectFrom('submissions').select('subscriber_id'));
    const of = ({ id }: { id: string }) => kept.filter((row) => row.subscriber_id === id).length;
    expect([gone, confirmed, left].map(of)).toEqual([0, 2, 2]);
    expect(await messagesTo(service, gone.email)).toBe(0);
    expect((await rowOf(service, confirmed.email))?.status).toBe('confirmed');
    expect((await rowOf(service, left.email))?.status).toBe('unsubscribed');
    expect(await sweep()).toBe(0);
  });

  test('answers the confirmation without waiting for the upstream, and redelivers the unconfirmed event', async () => {
    const row = await newSubscriber(service);
    let answer = () => {};
    upstream.answer = (response) => {
      answer = () => response.writeHead(503).end();
    };
    expect((await confirm(service, row)).status).toBe(303);
    await until(() => events(row.email).length === 2);
    answer();
    await service.parts.subscriptionLinks.close();
    upstream.answer = answering(200);
    const { storage, submissions } = service.parts;
    await storage.write((tx) =>
      tx.updateTable('submissions').set({ next_attempt_ms: 0 }).where('step', '=', 0).execute(),
    );
    await openRedelivery(submissions).redelivery.run();
    const [subscribed, first, second, ...more] = events(row.email);
    expect([subscribed?.type, first?.type]).toEqual(['subscriber.created', 'subscriber.confirmed']);
    expect([second, more]).toEqual([first, []]);
  });
});

describe('newsletter with the embedded inbox (reference §9.3)', () => {
  test('stores one submission for a subscriber, and no event for a confirmation and an unsubscribe', async () => {
    const service = await startService({ clock });
    const row = await newSubscriber(service);
    await subscribe(service, row.email);
    expect((await confirm(service, row)).status).toBe(303);
    expect((await rowOf(service, row.email))?.status).toBe('confirmed');
    expect((await leave(service, row)).status).toBe(200);
    expect((await rowOf(service, row.email))?.status).toBe('unsubscribed');
    const kept = await service.parts.storage.read((db) =>
      db.selectFrom('submissions').select(['subscriber', 'subscriber_id']),
    );
    expect(kept).toEqual([{ subscriber: row.email, subscriber_id: row.id }]);
    await service.parts.subscriptionLinks.close();
    expect(errorsIn(service.logs)).toEqual([]);
    await service.close();
  });

  test('confirms while no upstream is configured, and stores the event as waiting', async () => {
    const clockThen = testClock();
    const first = await startService({ clock: clockThen });
    const row = await newSubscriber(first);
    const { folder } = first;
    await first.parts.endWork();
    const later = await startService({
      clock: clockThen,
      environment: { UPSTREAM_URL: '', SMTP_URL: '', MAIL_FROM: '', DATA_DIR: folder },
    });
    expect((await confirm(later, row)).status).toBe(303);
    await later.parts.subscriptionLinks.close();
    const events = await later.parts.storage.read((db) =>
      db.selectFrom('submissions').select('status').where('fields_digest', 'is', null),
    );
    expect(events).toEqual([{ status: 'waiting' }]);
    await later.close();
    await first.close();
  });
});
