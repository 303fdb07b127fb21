import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { databases } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { answering } from '../support/upstream.ts';
import { ada, type Rig, startRig } from './rig.ts';

const DAY_MS = 86_400_000;

describe.each(databases)('repeated submission of a person on %s (reference §10.10)', (_name, create) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(await create());
  });
  afterEach(async () => {
    await rig.clear();
    rig.clock.advance(60_000);
  });
  afterAll(() => rig.end());

  const ids = () => new Set(rig.receiver.delivered.map(({ headers }) => headers['webhook-id']));
  const made = async () => (await rig.row()).made.map(({ by, outcome }) => `${by} ${outcome}`);

  /** Opens another instance that reports its first read, and the first failed read while the store is unavailable. */
  function another() {
    const looked = Promise.withResolvers<void>();
    const failed = Promise.withResolvers<void>();
    const store = { isAway: false, reads: 0, looked: looked.promise, failed: failed.promise };
    const read: Storage['read'] = async (query) => {
      if (store.isAway) {
        failed.resolve();
        throw new StorageUnavailable('The store is away.');
      }
      const rows = await rig.storage.read(query);
      store.reads += 1;
      looked.resolve();
      return rows;
    };
    return { ...rig.instance({ storage: { ...rig.storage, read } }), store };
  }

  /** Makes the upstream hold all requests. The returned function answers the last one. */
  function holding(status: number): () => void {
    let answer = () => {};
    rig.receiver.answer = (response) => {
      answer = () => response.writeHead(status).end();
    };
    return () => answer();
  }

  /** Sends a submission whose first attempt fails. */
  async function waiting() {
    rig.receiver.answer = answering(500);
    const accepted = await rig.send(ada);
    rig.receiver.answer = answering(200);
    return accepted;
  }

  test('makes another attempt for the waiting row at once, under the same id, and returns its result', async () => {
    const first = await waiting();
    const second = await rig.send(ada);
    expect(first).toMatchObject({ status: 'queued' });
    expect(second).toMatchObject({ reference: first.reference, status: 'delivered' });
    expect(ids()).toEqual(new Set([first.reference]));
    await rig.settled();
    expect(await made()).toEqual(['first unconfirmed', 'person confirmed']);
    // An equal submission after the delivery is a new one.
    expect((await rig.send(ada)).reference).not.toBe(first.reference);
  });

  test('keeps the next attempt and a mark for resending if the repeated attempt is not confirmed', async () => {
    await waiting();
    await rig.change({ resend_asked_ms: 5 });
    const before = await rig.row();
    rig.receiver.answer = answering(429, { 'retry-after': '86400' });
    expect(await rig.send(ada)).toMatchObject({ reference: before.id, status: 'queued' });
    expect(await rig.row()).toMatchObject({
      status: 'waiting',
      step: before.step,
      next_attempt_ms: before.next_attempt_ms,
      status_since_ms: before.status_since_ms,
      resend_asked_ms: 5,
    });
  });

  test('ends the row as undelivered if the repeated attempt is rejected', async () => {
    const { reference } = await waiting();
    rig.receiver.answer = answering(422);
    expect(await rig.send(ada)).toMatchObject({ reference, status: 'failed' });
    expect(await rig.row()).toMatchObject({ status: 'undelivered', reason: 'rejected' });
  });

  test.each([
    ['dismissed', 'failed'],
    ['delivered', 'delivered'],
    ['undelivered', 'failed'],
  ] as const)('returns the status and sends nothing if the row was %s meanwhile', async (status, told) => {
    const { reference } = await waiting();
    await rig.change({ status, step: null, next_attempt_ms: null });
    const again = await rig.send(ada, rig.instance().submissions, reference);
    expect(again).toMatchObject({ reference, status: told });
    expect(rig.receiver.delivered).toHaveLength(1);
    expect(await rig.row()).toMatchObject({ id: reference, status });
  });

  test('makes one attempt for two concurrent repeats, and returns the result to both', async () => {
    const { reference } = await waiting();
    const answer = holding(200);
    const { submissions, store } = another();
    const both = Promise.all([rig.send(ada), rig.send(ada, submissions)]);
    await until(() => rig.receiver.delivered.length === 2);
    // A read after the settled attempt would find no equal row that waits.
    await store.looked;
    answer();
    for (const accepted of await both) {
      expect(accepted).toMatchObject({ reference, status: 'delivered' });
    }
    expect(rig.receiver.delivered).toHaveLength(2);
    await until(async () => (await rig.row()).status !== 'sending');
    expect(await made()).toEqual(['first unconfirmed', 'person confirmed']);
  });

  /** Repeats a submission while a redelivery is running. The returned `end` completes the redelivery. */
  async function againBesideRedelivery(status: number) {
    const first = await waiting();
    await rig.age(120_000);
    const answer = holding(status);
    const working = rig.redelivery.work();
    await until(() => rig.receiver.delivered.length === 2);
    const { submissions, store } = another();
    const again = rig.send(ada, submissions);
    // A read after the settled attempt would find no equal row that waits.
    await store.looked;
    const end = async () => {
      answer();
      await working;
    };
    return { first, again, store, end };
  }

  test.each([
    [200, 'delivered', 'confirmed'],
    [500, 'queued', 'unknown'],
    [422, 'failed', 'unknown'],
  ] as const)('waits for the end of a running redelivery: after status %i, returns %s', async (answer, told, kind) => {
    const { first, again, end } = await againBesideRedelivery(answer);
    await end();
    expect(await again).toMatchObject({ reference: first.reference, status: told, outcome: { kind } });
    expect(rig.receiver.delivered).toHaveLength(2);
  });

  test.each([
    [200, 'delivered'],
    [500, 'queued'],
    [422, 'failed'],
  ] as const)(
    'reads the result of a redelivery again after a failed read: after status %i, returns %s',
    async (answer, told) => {
      const { first, again, store, end } = await againBesideRedelivery(answer);
      store.isAway = true;
      await end();
      await store.failed;
      store.isAway = false;
      expect(await again).toMatchObject({ reference: first.reference, status: told });
      expect(rig.receiver.delivered).toHaveLength(2);
    },
  );

  test('reads the row until the running redelivery has ended', async () => {
    const { first, again, store, end } = await againBesideRedelivery(200);
    // The first read finds the row, and the second read finds the attempt under way.
    await until(() => store.reads >= 3);
    await end();
    expect(await again).toMatchObject({ reference: first.reference, status: 'delivered' });
  });

  test('returns the result of the awaited attempt while the next attempt is running', async () => {
    const { first, again, end } = await againBesideRedelivery(200);
    await rig.change({ attempt_number: 3 });
    expect(await again).toMatchObject({ reference: first.reference, status: 'queued' });
    await end();
  });

  test('is a new submission if the row is deleted while a redelivery is running', async () => {
    const { first, again, end } = await againBesideRedelivery(500);
    rig.receiver.answer = answering(200);
    await rig.storage.write((tx) => tx.deleteFrom('submissions').execute());
    const { reference, status } = await again;
    expect([reference === first.reference, status]).toEqual([false, 'delivered']);
    await end();
  });

  test('sends its own row again that another process has recovered meanwhile', async () => {
    const { reference } = await waiting();
    const again = await rig.send(ada, rig.instance().submissions, reference);
    expect(again).toMatchObject({ reference, status: 'delivered' });
    await until(async () => (await rig.row()).status === 'delivered');
    expect(await made()).toEqual(['first unconfirmed', 'person confirmed']);
  });

  test('waits for the second attempt of another process that has recovered its own row meanwhile', async () => {
    const { reference } = await waiting();
    // The row has no schedule here, so that the insert finds it by its id only.
    await rig.change({ status: 'sending', step: null, attempt_number: 2 });
    const { submissions, store } = another();
    const again = rig.send(ada, submissions, reference);
    await until(() => store.reads >= 3);
    await rig.change({ status: 'undelivered' });
    expect(await again).toMatchObject({ reference, status: 'failed' });
    expect(rig.receiver.delivered).toHaveLength(1);
  });

  test('returns queued if the store stays unavailable for two seconds', async () => {
    const { first, again, store, end } = await againBesideRedelivery(500);
    store.isAway = true;
    await store.failed;
    rig.clock.advance(2_000);
    expect(await again).toMatchObject({ reference: first.reference, outcome: { kind: 'unknown' }, status: 'queued' });
    await end();
  });

  test('is a new submission while the first attempt is running', async () => {
    const answers: (() => void)[] = [];
    rig.receiver.answer = (response) => {
      answers.push(() => response.writeHead(200).end());
    };
    const both = [rig.send(ada), rig.send(ada)];
    await until(() => answers.length === 2);
    for (const answer of answers) answer();
    expect(new Set((await Promise.all(both)).map(({ reference }) => reference)).size).toBe(2);
    expect(ids().size).toBe(2);
  });

  test('is a new submission from 24 hours after the first submission', async () => {
    const { reference } = await waiting();
    rig.receiver.answer = answering(500);
    await rig.age(DAY_MS - 60_000);
    expect((await rig.send(ada)).reference).toBe(reference);
    await rig.age(61_000);
    expect((await rig.send(ada)).reference).not.toBe(reference);
    expect(await rig.rows()).toHaveLength(2);
  });

  test('sends the oldest of several equal rows', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    await rig.age(10_000);
    const oldest = await rig.send();
    await rig.age(10_000);
    const { reference } = await rig.send(ada);
    const digest = (await rig.rows()).find(({ id }) => id === reference)?.fields_digest ?? null;
    await rig.change({ fields_digest: digest });
    // The order of the inserts is not the order of the times.
    await rig.storage.write((tx) =>
      tx
        .updateTable('submissions')
        .set((row) => ({ received_ms: row('received_ms', '-', 60_000) }))
        .where('id', '=', oldest.reference)
        .execute(),
    );
    expect((await rig.send(ada)).reference).toBe(oldest.reference);
  });

  test('is a new submission in the embedded inbox, which limits only subscriptions to one row', async () => {
    const { submissions } = rig.instance({ upstream: { embedded: true } });
    const sent = [await rig.send(ada, submissions), await rig.send(ada, submissions)];
    expect(sent.map(({ status }) => status)).toEqual(['delivered', 'delivered']);
    const rows = await rig.rows();
    expect(rows.map(({ id }) => id).toSorted()).toEqual(sent.map(({ reference }) => reference).toSorted());
    const attempt = { at: rig.clock.now().toISOString(), ms: 0, outcome: 'confirmed', by: 'first', http_status: null };
    for (const row of rows) expect(row).toMatchObject({ stored_here: 1, subscriber: null, made: [attempt] });
  });

  test('is a new submission if one character differs', async () => {
    const { reference } = await waiting();
    expect((await rig.send({ ...ada, message: 'Hi!' })).reference).not.toBe(reference);
  });

  test.each(['undelivered', 'dismissed', 'delivered'] as const)(
    'is a new submission if the first submission is %s',
    async (status) => {
      const { reference } = await waiting();
      await rig.change({ status, step: null, next_attempt_ms: null });
      expect((await rig.send(ada)).reference).not.toBe(reference);
    },
  );
});
