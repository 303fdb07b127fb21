import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { openOutbox } from '../../src/mail/outbox.ts';
import { openSubscribers } from '../../src/newsletter/subscribers.ts';
import type { Log } from '../../src/platform/log.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import type { SubmissionRow } from '../../src/storage/schema.ts';
import { databases } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { answering } from '../support/upstream.ts';
import { ada, type Rig, startRig } from './rig.ts';

const HOUR_MS = 3_600_000;

describe.each(databases)('redelivery on %s (reference §10.9)', (_name, create) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(await create());
  });
  afterEach(async () => {
    await rig.clear();
    // Ends the pause that a test caused.
    rig.clock.advance(60_000);
  });
  afterAll(() => rig.end());

  /** Stores submissions of as many people that wait and are due, the first longest. */
  async function due(count: number): Promise<void> {
    rig.receiver.answer = answering(500);
    for (let number = 0; number < count; number += 1) {
      await rig.age(10_000);
      await rig.send();
    }
    await rig.age(2 * 60_000);
    rig.receiver.delivered.length = 0;
    rig.receiver.answer = answering(200);
  }
  const outcomes = async () => (await rig.row()).made.map(({ by, outcome }) => `${by} ${outcome}`);

  test('sends a due submission with the same id and body, and a new signature', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(1);
    await rig.age(66_001);
    rig.clock.advance(61_000);
    rig.receiver.answer = answering(200);
    await rig.redelivery.work();
    const [before, after] = rig.receiver.delivered;
    expect(after?.body).toBe(before?.body);
    for (const name of ['webhook-id', 'idempotency-key']) {
      expect(after?.headers[name]).toBe(before?.headers[name]);
    }
    for (const name of ['webhook-timestamp', 'webhook-signature']) {
      expect(after?.headers[name]).not.toBe(before?.headers[name]);
    }
    const row = await rig.row();
    expect(row).toMatchObject({ status: 'delivered', step: null, next_attempt_ms: null });
    expect(row.event).toBe(before?.body);
    expect(await outcomes()).toEqual(['first unconfirmed', 'redelivery confirmed']);
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(2);
  });

  test('ends a submission as undelivered after seven redeliveries', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    for (let redelivery = 1; redelivery <= 9; redelivery += 1) {
      await rig.age(27 * HOUR_MS);
      await rig.redelivery.work();
    }
    expect(rig.receiver.delivered).toHaveLength(8);
    expect(await rig.row()).toMatchObject({
      status: 'undelivered',
      reason: 'attempts_used_up',
      next_attempt_ms: null,
    });
  });

  test('ends a rejected submission as undelivered', async () => {
    await due(1);
    rig.receiver.answer = answering(422);
    await rig.redelivery.work();
    await rig.age(27 * HOUR_MS);
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(1);
    expect(await rig.row()).toMatchObject({ status: 'undelivered', reason: 'rejected' });
  });

  test('sends the longest due submission first, one at a time', async () => {
    await due(3);
    let underWay = 0;
    rig.receiver.answer = (response) => {
      underWay += 1;
      expect(underWay).toBe(1);
      setTimeout(() => {
        underWay -= 1;
        response.writeHead(200).end();
      }, 20);
    };
    const byAge = (await rig.rows())
      .toSorted((a, b) => Number(a.next_attempt_ms) - Number(b.next_attempt_ms))
      .map(({ id }) => id);
    await Promise.all([rig.redelivery.work(), rig.redelivery.work()]);
    expect(rig.receiver.delivered.map(({ headers }) => headers['webhook-id'])).toEqual(byAge);
  });

  test('pauses for a minute of the monotonic clock after an attempt without an HTTP status', async () => {
    await due(2);
    rig.receiver.answer = (response) => response.destroy();
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(1);
    rig.receiver.answer = answering(200);
    rig.clock.step(HOUR_MS);
    rig.clock.advance(59_999);
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(1);
    // Other instances have their own pause, and a person's attempt ignores it.
    await rig.send();
    expect(rig.receiver.delivered).toHaveLength(2);
    rig.clock.advance(1);
    await rig.redelivery.work();
    expect(rig.receiver.delivered.length).toBeGreaterThanOrEqual(3);
    rig.clock.step(-HOUR_MS);
  });

  test('pauses after an attempt without an HTTP status even if its outcome could not be written', async () => {
    await due(2);
    let writes = 0;
    const write: Storage['write'] = async (change) => {
      writes += 1;
      // The store becomes unavailable after the lease was written.
      if (writes === 2) throw new StorageUnavailable('The store is away.');
      return await rig.storage.write(change);
    };
    const lines: unknown[] = [];
    const log = { error: (...line: unknown[]) => void lines.push(line) } as unknown as Log;
    const { redelivery } = rig.instance({ storage: { ...rig.storage, write }, log });
    rig.receiver.answer = (response) => response.destroy();
    await redelivery.work();
    await redelivery.work();
    expect([writes, rig.receiver.delivered.length]).toEqual([2, 1]);
    expect(lines).toEqual([[{ err: expect.any(StorageUnavailable) }, 'submissions not resent']]);
  });

  test('does not pause after any HTTP status, or after a person’s attempt without one', async () => {
    await due(2);
    rig.receiver.answer = answering(503);
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(2);
    rig.receiver.answer = (response) => response.destroy();
    await rig.send();
    rig.receiver.answer = answering(200);
    await rig.age(HOUR_MS);
    await rig.redelivery.work();
    expect((await rig.rows()).map(({ status }) => status)).toEqual(Array(3).fill('delivered'));
  });

  test('waits for the Retry-After of a 429', async () => {
    rig.receiver.answer = answering(429, { 'retry-after': '3600' });
    await rig.send();
    rig.receiver.answer = answering(200);
    await rig.age(3_590_000);
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(1);
    await rig.age(400_000);
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(2);
  });

  test('sends nothing automatically with REDELIVERY=off, and does not change waiting rows', async () => {
    const off = rig.instance({ redelivery: false });
    rig.receiver.answer = answering(500);
    await rig.send(ada, off.submissions);
    expect(await rig.row()).toMatchObject({ status: 'undelivered', reason: 'redelivery_off' });
    await rig.change({ status: 'waiting', step: 2, next_attempt_ms: 0, reason: null });
    await off.redelivery.work();
    expect(rig.receiver.delivered).toHaveLength(1);
    expect((await rig.row()).status).toBe('waiting');
  });

  test('counts each attempt by its outcome and cause, stores its duration, and logs a redelivery', async () => {
    const counted: unknown[] = [];
    const metrics = { countAttempt: (...attempt: unknown[]) => void counted.push(attempt) };
    rig.clock.advance(1_000);
    rig.receiver.answer = (response) => {
      rig.clock.advance(250);
      response.writeHead(429).end();
    };
    const lines: unknown[] = [];
    const log = { info: (...line: unknown[]) => void lines.push(line) } as unknown as Log;
    const { submissions, redelivery } = rig.instance({ metrics, log });
    await rig.send(ada, submissions);
    await rig.age(2 * HOUR_MS);
    rig.clock.advance(2 * HOUR_MS);
    rig.receiver.answer = answering(200);
    await redelivery.work();
    await redelivery.close();
    expect(counted).toEqual([
      ['rateLimited', 'first'],
      ['confirmed', 'redelivery'],
    ]);
    const { id, made } = await rig.row();
    expect(made).toMatchObject([
      { outcome: 'rateLimited', by: 'first', ms: 250, http_status: 429 },
      { outcome: 'confirmed', by: 'redelivery', ms: 0, http_status: 200 },
    ]);
    const outcome = { kind: 'confirmed', known: false, status: 200 };
    expect(lines).toEqual([
      [{ submissionId: id, by: 'redelivery', outcome, status: 'delivered' }, 'submission resent'],
    ]);
  });

  test('does not change waiting rows if there is no upstream', async () => {
    await due(1);
    await rig.instance({ upstream: undefined }).redelivery.work();
    expect((await rig.row()).status).toBe('waiting');
  });

  test('stores due rows in the inbox without a pause if the settings changed to the embedded inbox', async () => {
    await due(2);
    const counted: unknown[] = [];
    const completed: unknown[] = [];
    const { redelivery } = rig.instance({
      upstream: { embedded: true },
      metrics: { countAttempt: (...attempt) => void counted.push(attempt) },
      onCompleted: ({ outcome }) => void completed.push(outcome),
    });
    await redelivery.work();
    const at = rig.clock.now().toISOString();
    for (const row of await rig.rows()) {
      expect(row).toMatchObject({ status: 'delivered', stored_here: 1 });
      expect(row.made.at(-1)).toEqual({ at, ms: 0, outcome: 'confirmed', by: 'redelivery', http_status: null });
    }
    expect(counted).toEqual(Array(2).fill(['confirmed', 'redelivery']));
    expect(completed).toEqual(Array(2).fill({ kind: 'confirmed', known: false }));
    expect(rig.receiver.delivered).toEqual([]);
  });

  test('stores one row of a subscriber as a subscription in the inbox, and no lead or later event', async () => {
    await due(4);
    const [lead, event, one, other] = (await rig.rows()).map(({ id }) => id);
    const email = 'subscriber@example.com';
    const set = (of: Partial<SubmissionRow>, ...ids: (string | undefined)[]) =>
      rig.storage.write((tx) => tx.updateTable('submissions').set(of).where('id', 'in', ids.map(String)).execute());
    await set({ email }, lead);
    await set({ form: 'newsletter', email, fields_digest: null }, event);
    await set({ form: 'newsletter', email }, one, other);
    await rig.instance({ upstream: { embedded: true } }).redelivery.work();
    const stored = (await rig.rows()).map(({ status, subscriber }) => [status, subscriber]);
    expect(stored).toEqual([null, null, email, null].map((subscriber) => ['delivered', subscriber]));
  });

  test('delivers a subscription answered with 409, and queues its message in the same commit', async () => {
    await due(1);
    const email = 'subscriber@example.com';
    const event = JSON.stringify({ type: 'subscriber.created', data: {} });
    rig.receiver.answer = answering(409);
    const { storage, clock } = rig;
    const mailer = { send: () => expect.fail(), close: () => {} };
    const log = { info: () => {} } as unknown as Log;
    const mail = { storage, clock, newId: () => 'm-1', mailer, perMinute: 1, log };
    const outbox = openOutbox({ ...mail, hostname: 'paint.example' } as never);
    const parts = { storage, clock, newId: () => 's-1', newToken: () => randomUUID(), baseUrl: '' };
    const subscribers = openSubscribers(parts);
    await storage.write(subscribers.join({ id: 'first', fields: { email, contractor: 'direct' } } as never));
    await rig.change({ form: 'newsletter', email, event, subscriber_id: 's-1' });
    const { redelivery } = rig.instance({
      messages: (completed) => subscribers.messageOf(completed, outbox),
    });
    await redelivery.work();
    expect((await rig.row()).status).toBe('delivered');
    const kept = await storage.read((db) => db.selectFrom('messages').select('address'));
    expect(kept).toEqual([{ address: email }]);
  });

  test('sends each row once if two instances work at the same time', async () => {
    await due(6);
    const other = rig.instance();
    await Promise.all([rig.redelivery.work(), other.redelivery.work()]);
    const sent = rig.receiver.delivered.map(({ headers }) => headers['webhook-id']);
    expect(sent.toSorted()).toEqual((await rig.rows()).map(({ id }) => id).toSorted());
    expect((await rig.rows()).map(({ made }) => made.length)).toEqual(Array(6).fill(2));
    // An instance that comes too late for a row continues with the next row.
    expect(new Set(rig.logged)).toEqual(new Set(['submission resent']));
  });

  test('never sends an agent’s or a dismissed submission', async () => {
    await due(1);
    await rig.change({ status: 'undelivered', reason: 'execution_failed', origin: 'agent' });
    await rig.redelivery.work();
    await rig.change({ status: 'dismissed', reason: 'spam', origin: 'browser' });
    await rig.redelivery.work();
    expect(rig.receiver.delivered).toEqual([]);
  });

  test('waits for the running attempt on close and starts no other attempt', async () => {
    await due(2);
    let answer = () => {};
    rig.receiver.answer = (response) => {
      answer = () => response.writeHead(200).end();
    };
    const { redelivery } = rig.instance();
    const working = redelivery.work();
    await until(() => rig.receiver.delivered.length === 1);
    let closed = false;
    const closing = redelivery.close().then(() => {
      closed = true;
    });
    expect(closed).toBe(false);
    answer();
    await Promise.all([closing, working]);
    expect((await rig.rows()).map(({ status }) => status).toSorted()).toEqual(['delivered', 'waiting']);
    expect(rig.receiver.delivered).toHaveLength(1);
  });

  describe('resend for the operator', () => {
    test.each([
      ['waiting', { step: 1, next_attempt_ms: 8e15 }],
      ['undelivered', { step: null, next_attempt_ms: null, reason: 'rejected' }],
      ['delivered', { step: null, next_attempt_ms: null }],
    ] as const)('sends a marked row with the status %s at once, and ends the row as delivered', async (status, set) => {
      await rig.send();
      await rig.settled();
      await rig.change({ status, ...set, resend_asked_ms: 1 });
      await rig.instance({ redelivery: false }).redelivery.work();
      const row = await rig.row();
      expect(row).toMatchObject({ status: 'delivered', reason: null, resend_asked_ms: null });
      expect(row.made.at(-1)).toMatchObject({ by: 'operator', outcome: 'confirmed' });
      const ids = rig.receiver.delivered.map(({ headers }) => headers['webhook-id']);
      expect(ids).toEqual([row.id, row.id]);
    });

    test.each([
      ['waiting', 500, { step: 1, next_attempt_ms: 8e15, reason: null }],
      ['undelivered', 500, { step: null, next_attempt_ms: null, reason: 'attempts_used_up' }],
      ['delivered', 500, { step: null, next_attempt_ms: null, reason: null }],
      ['delivered', 422, { step: null, next_attempt_ms: null, reason: null }],
    ] as const)('restores the row’s status %s if the upstream answers with %i', async (status, answer, set) => {
      await rig.send();
      await rig.settled();
      await rig.change({ status, ...set, resend_asked_ms: 1 });
      rig.receiver.answer = answering(answer);
      await rig.redelivery.work();
      expect(await rig.row()).toMatchObject({ status, ...set, resend_asked_ms: null });
      expect(rig.receiver.delivered).toHaveLength(2);
    });

    test('does not send a marked row whose redelivery is running', async () => {
      await due(1);
      let answer = () => {};
      rig.receiver.answer = (response) => {
        answer = () => response.writeHead(500).end();
      };
      const working = rig.redelivery.work();
      await until(() => rig.receiver.delivered.length === 1);
      await rig.change({ resend_asked_ms: 1 });
      await rig.instance({ redelivery: false }).redelivery.work();
      expect(rig.receiver.delivered).toHaveLength(1);
      answer();
      await working;
    });

    test('does not pause redelivery after an attempt without an HTTP status', async () => {
      await due(1);
      await rig.change({ next_attempt_ms: 8e15, resend_asked_ms: 1 });
      rig.receiver.answer = (response) => response.destroy();
      await rig.redelivery.work();
      rig.receiver.answer = answering(200);
      await rig.change({ next_attempt_ms: 0 });
      await rig.redelivery.work();
      expect((await rig.row()).made.map(({ by }) => by)).toEqual(['first', 'operator', 'redelivery']);
    });

    test('does not wait for the end of a pause of redelivery', async () => {
      await due(2);
      const [asked] = await rig.rows();
      rig.receiver.answer = (response) => response.destroy();
      await rig.redelivery.work();
      rig.receiver.answer = answering(200);
      await rig.storage.write((tx) =>
        tx
          .updateTable('submissions')
          .set({ resend_asked_ms: 1 })
          .where('id', '=', asked?.id ?? '')
          .execute(),
      );
      await rig.redelivery.work();
      expect(rig.receiver.delivered).toHaveLength(2);
      expect((await rig.rows()).map(({ status }) => status)).toEqual(['delivered', 'waiting']);
    });
  });
});
