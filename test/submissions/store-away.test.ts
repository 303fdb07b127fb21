import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { databases } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { answering } from '../support/upstream.ts';
import { ada, LEASE_MS, type Rig, startRig } from './rig.ts';

const away = () => Promise.reject(new StorageUnavailable('The store is away.'));

describe.each(databases)('while the store is away, on %s (beyond §1)', (_name, create) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(await create());
  });
  afterEach(() => rig.clear());
  afterAll(() => rig.end());

  /** An instance whose reads and writes do what they are told. */
  function faulty() {
    const { read, write } = rig.storage;
    const faults = { read, write, requireRoom: () => {} };
    const storage: Storage = {
      ...rig.storage,
      read: (query) => faults.read(query),
      write: (run) => faults.write(run),
      requireRoom: () => faults.requireRoom(),
    };
    return { ...rig.instance({ storage }), faults };
  }

  test('it is tried for two seconds, then forwarded unkept, once, and said so in the log', async () => {
    const { submissions, faults } = faulty();
    faults.write = away;
    const before = performance.now();
    const accepted = await rig.send(ada, submissions);
    expect(performance.now() - before).toBeGreaterThan(1_900);
    expect(accepted).toMatchObject({ outcome: { kind: 'confirmed' }, standing: 'unkept' });
    expect(rig.receiver.delivered[0]?.headers['webhook-id']).toBe(accepted.reference);
    expect(rig.logged).toContain('the store is away: a submission is forwarded unkept');
    faults.write = rig.storage.write;
    // The next one is kept again.
    expect(await rig.send(undefined, submissions)).toMatchObject({ standing: 'delivered' });
    await submissions.close();
    expect(rig.receiver.delivered).toHaveLength(2);
    expect((await rig.row()).id).not.toBe(accepted.reference);
  });

  test('a store that is back within two seconds keeps it', async () => {
    const { submissions, faults } = faulty();
    faults.write = away;
    setTimeout(() => {
      faults.write = rig.storage.write;
    }, 300);
    expect(await rig.send(ada, submissions)).toMatchObject({ standing: 'delivered' });
    await submissions.close();
    expect(await rig.row()).toMatchObject({ status: 'delivered' });
  });

  test('a disk without room is a store that is away', async () => {
    const { submissions, faults } = faulty();
    faults.requireRoom = () => {
      throw new StorageUnavailable('The disk is full.');
    };
    expect(await rig.send(ada, submissions)).toMatchObject({ standing: 'unkept' });
    expect(await rig.rows()).toEqual([]);
  });

  test.each([
    [200, { status: 'delivered', reason: null }],
    [500, { status: 'undelivered', reason: 'sent_unkept' }],
  ])(
    'a first commit that held after all is ended by what is known, and never sent a second time (%i)',
    async (status, end) => {
      const { submissions, redelivery, faults } = faulty();
      const committed = Promise.withResolvers<void>();
      faults.write = (async (run: Parameters<Storage['write']>[0]) => {
        const result = await rig.storage.write(run);
        faults.write = rig.storage.write;
        await committed.promise;
        return result;
      }) as Storage['write'];
      rig.receiver.answer = answering(status);
      const accepted = await rig.send(ada, submissions);
      expect(accepted).toMatchObject({ standing: 'unkept' });
      expect(await rig.row()).toMatchObject({ id: accepted.reference, status: 'sending' });
      committed.resolve();
      rig.receiver.answer = answering(200);
      // Settled before another row is taken.
      await rig.send(undefined, submissions);
      const row = (await rig.rows()).find(({ id }) => id === accepted.reference);
      expect(row).toMatchObject(end);
      await submissions.close();
      await rig.age(LEASE_MS + 60 * 60_000);
      await submissions.settleExpired();
      await redelivery.work();
      const sent = rig.receiver.delivered.map(({ headers }) => headers['webhook-id']);
      expect(sent.filter((id) => id === accepted.reference)).toHaveLength(1);
    },
  );

  test('an end that could not be written is written before another row is taken', async () => {
    const { submissions, faults } = faulty();
    rig.receiver.answer = (response) => {
      faults.write = away;
      response.writeHead(200).end();
    };
    const { reference, standing } = await rig.send(ada, submissions);
    await until(() => submissions.isBehind());
    expect([standing, (await rig.row()).status]).toEqual(['delivered', 'sending']);
    faults.write = rig.storage.write;
    rig.receiver.answer = answering(200);
    await rig.send(undefined, submissions);
    const row = (await rig.rows()).find(({ id }) => id === reference);
    expect(row).toMatchObject({ status: 'delivered', made: [{ outcome: 'confirmed' }] });
    await submissions.close();
  });

  test('how the row of an attempt stands that another has ended is looked for again', async () => {
    const { submissions, faults } = faulty();
    let answer = () => {};
    rig.receiver.answer = (response) => {
      answer = () => response.writeHead(500).end();
    };
    const sending = rig.send(ada, submissions);
    await until(() => rig.receiver.delivered.length === 1);
    await rig.age(LEASE_MS + 1_000);
    expect(await rig.submissions.settleExpired()).toBe(1);
    await rig.change({ status: 'dismissed', step: null, next_attempt_ms: null });
    faults.read = () => {
      faults.read = rig.storage.read;
      return away();
    };
    answer();
    expect(await sending).toMatchObject({ standing: 'left' });
  });

  test('where another has ended a rejected attempt as unknown, and nothing can be read, it is said to be kept', async () => {
    const { submissions, faults } = faulty();
    let answer = () => {};
    rig.receiver.answer = (response) => {
      answer = () => response.writeHead(422).end();
    };
    const sending = rig.send(ada, submissions);
    await until(() => rig.receiver.delivered.length === 1);
    await rig.age(LEASE_MS + 1_000);
    expect(await rig.submissions.settleExpired()).toBe(1);
    faults.read = away;
    answer();
    expect(await sending).toMatchObject({ standing: 'kept' });
    expect(await rig.row()).toMatchObject({ status: 'waiting', made: [{ outcome: 'unknown' }] });
  });

  test('a person whose submission is kept and could not be settled hears that it is kept', async () => {
    const { submissions, faults } = faulty();
    rig.receiver.answer = (response) => {
      faults.write = away;
      response.writeHead(500).end();
    };
    expect(await rig.send(ada, submissions)).toMatchObject({ standing: 'kept' });
    faults.write = rig.storage.write;
    await submissions.close();
    expect(await rig.row()).toMatchObject({ status: 'waiting', step: 0 });
  });
});
