import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { databases } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { answering } from '../support/upstream.ts';
import { ada, type Rig, startRig } from './rig.ts';

const DAY_MS = 86_400_000;

describe.each(databases)('sent again by the person, on %s (beyond §1)', (_name, create) => {
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

  /** Another process: it tells of its first look at the store, and of the first that failed once that is away. */
  function another() {
    const looked = Promise.withResolvers<void>();
    const failed = Promise.withResolvers<void>();
    const store = { isAway: false, looked: looked.promise, failed: failed.promise };
    const read: Storage['read'] = async (query) => {
      if (store.isAway) {
        failed.resolve();
        throw new StorageUnavailable('The store is away.');
      }
      const rows = await rig.storage.read(query);
      looked.resolve();
      return rows;
    };
    return { ...rig.instance({ storage: { ...rig.storage, read } }), store };
  }

  /** The upstream holds every request until it is told to answer the last. */
  function holding(status: number): () => void {
    let answer = () => {};
    rig.receiver.answer = (response) => {
      answer = () => response.writeHead(status).end();
    };
    return () => answer();
  }

  /** What did not arrive at its first attempt. */
  async function waiting() {
    rig.receiver.answer = answering(500);
    const accepted = await rig.send(ada);
    rig.receiver.answer = answering(200);
    return accepted;
  }

  test('it is one row and one id, attempted at once, and the answer is of that attempt', async () => {
    const first = await waiting();
    const second = await rig.send(ada);
    expect(first).toMatchObject({ standing: 'kept' });
    expect(second).toMatchObject({ reference: first.reference, standing: 'delivered' });
    expect(ids()).toEqual(new Set([first.reference]));
    await rig.settled();
    expect(await made()).toEqual(['first unconfirmed', 'person confirmed']);
    // What has arrived is said: the same once more is a submission of its own.
    expect((await rig.send(ada)).reference).not.toBe(first.reference);
  });

  test('where it is not confirmed, neither the moment nor the step changes', async () => {
    await waiting();
    const before = await rig.row();
    rig.receiver.answer = answering(429, { 'retry-after': '86400' });
    expect(await rig.send(ada)).toMatchObject({ reference: before.id, standing: 'kept' });
    expect(await rig.row()).toMatchObject({
      status: 'waiting',
      step: before.step,
      next_attempt_ms: before.next_attempt_ms,
      status_since_ms: before.status_since_ms,
    });
  });

  test('where it is rejected, the row ends', async () => {
    const { reference } = await waiting();
    rig.receiver.answer = answering(422);
    expect(await rig.send(ada)).toMatchObject({ reference, standing: 'left' });
    expect(await rig.row()).toMatchObject({ status: 'undelivered', reason: 'rejected' });
  });

  test.each([
    ['dismissed', 'left'],
    ['delivered', 'delivered'],
    ['undelivered', 'left'],
  ] as const)(
    'what its own earlier commit has kept, and others have %s since, is not sent again',
    async (status, standing) => {
      const { reference } = await waiting();
      await rig.change({ status, step: null, next_attempt_ms: null });
      const again = await rig.send(ada, rig.instance().submissions, reference);
      expect(again).toMatchObject({ reference, standing });
      expect(rig.receiver.delivered).toHaveLength(1);
      expect(await rig.row()).toMatchObject({ id: reference, status });
    },
  );

  test('two at once make one attempt more, and both hear of it', async () => {
    const { reference } = await waiting();
    const answer = holding(200);
    const { submissions, store } = another();
    const both = Promise.all([rig.send(ada), rig.send(ada, submissions)]);
    await until(() => rig.receiver.delivered.length === 2);
    // Who looks after the end finds nothing that equals it.
    await store.looked;
    answer();
    for (const accepted of await both) {
      expect(accepted).toMatchObject({ reference, standing: 'delivered' });
    }
    expect(rig.receiver.delivered).toHaveLength(2);
    await until(async () => (await rig.row()).status !== 'sending');
    expect(await made()).toEqual(['first unconfirmed', 'person confirmed']);
  });

  /** It is sent again while a redelivery is under way; what is returned ends that one. */
  async function againBesideRedelivery(status: number) {
    const first = await waiting();
    await rig.age(120_000);
    const answer = holding(status);
    const working = rig.redelivery.work();
    await until(() => rig.receiver.delivered.length === 2);
    const { submissions, store } = another();
    const again = rig.send(ada, submissions);
    // Who looks after the end finds nothing that equals it.
    await store.looked;
    const end = async () => {
      answer();
      await working;
    };
    return { first, again, store, end };
  }

  test.each([
    [200, 'delivered'],
    [500, 'kept'],
    [422, 'left'],
  ] as const)(
    'while a redelivery is under way, its end is waited for: %i is %s',
    async (status, standing) => {
      const { first, again, end } = await againBesideRedelivery(status);
      await end();
      expect(await again).toMatchObject({ reference: first.reference, standing });
      expect(rig.receiver.delivered).toHaveLength(2);
    },
  );

  test.each([
    [200, 'delivered'],
    [500, 'kept'],
    [422, 'left'],
  ] as const)(
    'an end that can’t be read at the first look is looked for again: %i is %s',
    async (status, standing) => {
      const { first, again, store, end } = await againBesideRedelivery(status);
      store.isAway = true;
      await end();
      await store.failed;
      store.isAway = false;
      expect(await again).toMatchObject({ reference: first.reference, standing });
      expect(rig.receiver.delivered).toHaveLength(2);
    },
  );

  test('where the store stays away for two seconds, what was read last is said: it is kept', async () => {
    const { first, again, store, end } = await againBesideRedelivery(500);
    store.isAway = true;
    await store.failed;
    rig.clock.advance(2_000);
    expect(await again).toMatchObject({ reference: first.reference, standing: 'kept' });
    await end();
  });

  test('while the first attempt is under way it is a submission of its own', async () => {
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

  test('until 24 hours after it was received, and then it is a new one', async () => {
    const { reference } = await waiting();
    rig.receiver.answer = answering(500);
    await rig.age(DAY_MS - 60_000);
    expect((await rig.send(ada)).reference).toBe(reference);
    await rig.age(61_000);
    expect((await rig.send(ada)).reference).not.toBe(reference);
    expect(await rig.rows()).toHaveLength(2);
  });

  test('of several that equal it, the oldest is taken', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    await rig.age(10_000);
    await rig.send();
    await rig.age(10_000);
    const { reference } = await rig.send(ada);
    const [oldest] = await rig.rows();
    const digest = (await rig.rows()).find(({ id }) => id === reference)?.fields_digest ?? null;
    await rig.change({ fields_digest: digest });
    expect((await rig.send(ada)).reference).toBe(oldest?.id);
  });

  test('one other letter is another submission', async () => {
    const { reference } = await waiting();
    expect((await rig.send({ ...ada, message: 'Hi!' })).reference).not.toBe(reference);
  });

  test.each(['undelivered', 'dismissed', 'delivered'] as const)(
    'what is %s is not taken up: it is a new one',
    async (status) => {
      const { reference } = await waiting();
      await rig.change({ status, step: null, next_attempt_ms: null });
      expect((await rig.send(ada)).reference).not.toBe(reference);
    },
  );
});
