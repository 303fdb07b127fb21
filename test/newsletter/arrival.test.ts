/** When a subscriber gets the confirmation message, and what logs and metrics say about subscribers. */

import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openNewsletterSweep } from '../../src/newsletter/sweep.ts';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { openRedelivery } from '../../src/submissions/redelivery.ts';
import { testClock } from '../support/clock.ts';
import { freePort } from '../support/free-port.ts';
import { metricsText } from '../support/metrics.ts';
import { errorsIn, type Service, startService } from '../support/service.ts';
import { until } from '../support/until.ts';
import { answering, type ProgrammableUpstream, startUpstream } from '../support/upstream.ts';
import { confirm, leave, messagesTo, newSubscriber, reader, rowOf, subscribe } from './rig.ts';

const clock = testClock();
let metricsPort: number;
let upstream: ProgrammableUpstream;
let service: Service;

beforeAll(async () => {
  metricsPort = await freePort();
  upstream = await startUpstream();
  const environment = { UPSTREAM_URL: upstream.url, METRICS_PORT: String(metricsPort) };
  service = await startService({ clock, environment });
});
beforeEach(() => {
  upstream.answer = answering(200);
  service.logs.length = 0;
});
afterAll(async () => {
  await service.close();
  await upstream.close();
});

describe('the confirmation message (reference §9.4)', () => {
  test.each([
    [200, 200, 1],
    // 422 rejects, 500 and 503 confirm nothing.
    [422, 502, 0],
    [500, 502, 0],
    [503, 502, 0],
  ])('after %i of the upstream: answer %i, %i messages', async (status, answered, messages) => {
    upstream.answer = answering(status);
    const email = reader();
    expect(await subscribe(service, email)).toBe(answered);
    expect(await rowOf(service, email)).toMatchObject({ status: 'pending' });
    expect(await messagesTo(service, email)).toBe(messages);
  });

  test.each([200, 409])('is sent once a later attempt gets %i', async (status) => {
    upstream.answer = answering(503);
    const email = reader();
    await subscribe(service, email);
    upstream.answer = answering(status);
    const { storage, submissions } = service.parts;
    await storage.write((tx) =>
      tx.updateTable('submissions').set({ next_attempt_ms: 0 }).where('email', '=', email).execute(),
    );
    await openRedelivery(submissions).redelivery.run();
    expect(await messagesTo(service, email)).toBe(1);
  });

  test('is not sent if the person confirmed or was erased before the subscription arrived', async () => {
    const { storage, submissions } = service.parts;
    upstream.answer = answering(503);
    const [confirmed, erased] = [reader(), reader()];
    await subscribe(service, confirmed);
    await subscribe(service, erased);
    await storage.write(async (tx) => {
      await tx.updateTable('subscribers').set({ status: 'confirmed' }).where('email', '=', confirmed).execute();
      await tx.deleteFrom('subscribers').where('email', '=', erased).execute();
      await tx.updateTable('submissions').set({ next_attempt_ms: 0 }).where('step', 'is not', null).execute();
    });
    upstream.answer = answering(200);
    await openRedelivery(submissions).redelivery.run();
    expect([await messagesTo(service, confirmed), await messagesTo(service, erased)]).toEqual([0, 0]);
    const ended = await storage.read((db) =>
      db.selectFrom('submissions').select('status').where('email', 'in', [confirmed, erased]),
    );
    expect(ended).toEqual([{ status: 'delivered' }, { status: 'delivered' }]);
  });

  test('is not sent for the events of a confirmation and an unsubscribe', async () => {
    const row = await newSubscriber(service);
    await service.parts.storage.write((tx) => tx.deleteFrom('messages').where('address', '=', row.email).execute());
    await confirm(service, row);
    await leave(service, row);
    await service.parts.subscriptionLinks.close();
    expect(await messagesTo(service, row.email)).toBe(0);
  });

  test('is not sent again if an event arrives after the person has subscribed again', async () => {
    const { storage, submissions } = service.parts;
    const row = await newSubscriber(service);
    upstream.answer = answering(503);
    await leave(service, row);
    await service.parts.subscriptionLinks.close();
    await subscribe(service, row.email);
    await storage.write((tx) =>
      tx.updateTable('submissions').set({ next_attempt_ms: 0 }).where('fields_digest', 'is', null).execute(),
    );
    await storage.write((tx) => tx.deleteFrom('messages').where('address', '=', row.email).execute());
    upstream.answer = answering(200);
    await openRedelivery(submissions).redelivery.run();
    expect(upstream.delivered.at(-1)?.event).toMatchObject({ type: 'subscriber.unsubscribed' });
    expect(await rowOf(service, row.email)).toMatchObject({ status: 'pending' });
    expect(await messagesTo(service, row.email)).toBe(0);
  });
});

describe('a change of a subscriber', () => {
  const linesOf = (msg: string) => service.logs.map((line) => JSON.parse(line)).filter((line) => line.msg === msg);
  const counted = async () => {
    const text = await metricsText(metricsPort);
    const series = [...text.matchAll(/^service_subscribers_total\{status="(\w+)"\} (\d+)$/gm)];
    return Object.fromEntries(series.map(([, status, count]) => [status, Number(count)]));
  };

  test('is logged and counted once, with the ids of the subscriber and the event', async () => {
    const before = await counted();
    const row = await newSubscriber(service);
    for (const press of [confirm, confirm, leave, leave]) await press(service, row);
    await service.parts.subscriptionLinks.close();
    const events = await service.parts.storage.read((db) =>
      db
        .selectFrom('submissions')
        .select('id')
        .where('subscriber_id', '=', row.id)
        .where('fields_digest', 'is', null)
        .orderBy('received_ms')
        .orderBy('id'),
    );
    expect(linesOf('subscriber status changed')).toMatchObject([
      { level: 'info', subscriberId: row.id, submissionId: events[0]?.id, to: 'confirmed' },
      { level: 'info', subscriberId: row.id, submissionId: events[1]?.id, to: 'unsubscribed' },
    ]);
    const after = await counted();
    expect([after.confirmed - before.confirmed, after.unsubscribed - before.unsubscribed]).toEqual([1, 1]);
  });

  test('is logged by the sweep, unless nobody expired', async () => {
    const { storage, log, metrics } = service.parts;
    const row = await newSubscriber(service);
    const { expired = 0 } = await counted();
    clock.advance(7 * 86_400_000);
    const sweep = openNewsletterSweep({ storage, clock, log, metrics });
    await sweep.run();
    await sweep.run();
    expect(await rowOf(service, row.email)).toBeUndefined();
    const [line, ...more] = linesOf('unconfirmed subscriptions erased');
    expect([line?.level, more]).toEqual(['info', []]);
    expect((await counted()).expired).toBe(expired + line.count);
    await sweep.close();
  });

  test('the sweep logs an error of the store', async () => {
    const { log, metrics } = service.parts;
    const storage = { read: () => Promise.reject(new StorageUnavailable('gone')) } as never;
    await openNewsletterSweep({ storage, clock, log, metrics }).run();
    expect(errorsIn(service.logs).map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'unconfirmed subscriptions not erased', err: { message: 'gone' } },
    ]);
  });

  test('has no effect if the person is erased meanwhile', async () => {
    const row = await newSubscriber(service);
    const { storage } = service.parts;
    const { write } = storage;
    storage.write = (async (change: Parameters<typeof write>[0]) => {
      storage.write = write;
      await write((tx) => tx.deleteFrom('subscribers').where('id', '=', row.id).execute());
      return await write(change);
    }) as typeof write;
    expect((await confirm(service, row)).status).toBe(404);
    expect(errorsIn(service.logs)).toEqual([]);
  });

  test('its event whose outcome is not stored yet is logged', async () => {
    const row = await newSubscriber(service);
    const { storage } = service.parts;
    const { write } = storage;
    let answer: (() => void) | undefined;
    upstream.answer = (response) => {
      answer = () => response.writeHead(200).end();
    };
    await confirm(service, row);
    await until(() => answer !== undefined);
    storage.write = () => Promise.reject(new StorageUnavailable('gone'));
    answer?.();
    await service.parts.subscriptionLinks.close();
    storage.write = write;
    const [event] = await storage.read((db) =>
      db.selectFrom('submissions').select('id').where('email', '=', row.email).where('status', '=', 'sending'),
    );
    expect(errorsIn(service.logs).map((line) => JSON.parse(line))).toContainEqual(
      expect.objectContaining({
        ...{ msg: 'attempt outcome not stored yet', submissionId: event?.id },
        err: expect.objectContaining({ message: 'gone' }),
      }),
    );
    await service.parts.submissions.pending.flush();
  });
});
