import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { noAlerts, openAlerts } from '../../src/notices/alerts.ts';
import { openLog } from '../../src/platform/log.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { completeExpiredAttempts } from '../../src/submissions/attempts.ts';
import { closeLeadStore, type LeadStoreOptions } from '../../src/submissions/lead-store.ts';
import { databases } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { answering } from '../support/upstream.ts';
import { ada, LEASE_MS, type Rig, startRig } from './rig.ts';

const noLog = openLog('silent');
const away = () => Promise.reject(new StorageUnavailable('The store is away.'));

describe.each(databases)('delivery while the store is unavailable, on %s (reference §10.11)', (_name, create) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(await create());
  });
  afterEach(() => rig.clear());
  afterAll(() => rig.end());

  /** Opens an instance whose reads and writes can be replaced. */
  function faulty(over: Partial<LeadStoreOptions> = {}) {
    const { read, write } = rig.storage;
    const faults = { read, write, requireDiskSpace: () => {} };
    const storage: Storage = {
      ...rig.storage,
      read: (query) => faults.read(query),
      write: (run) => faults.write(run),
      requireDiskSpace: () => faults.requireDiskSpace(),
    };
    return { ...rig.instance({ ...over, storage }), faults };
  }

  test('tries to store for two seconds, then forwards the submission once without a row, and logs this', async () => {
    const { submissions, faults } = faulty();
    let tries = 0;
    faults.write = () => {
      tries += 1;
      return away();
    };
    const before = performance.now();
    const accepted = await rig.send(ada, submissions);
    expect(performance.now() - before).toBeGreaterThan(1_900);
    // A pause of 100 ms separates the tries.
    expect(tries).toBeLessThanOrEqual(21);
    expect(accepted).toMatchObject({ outcome: { kind: 'confirmed' }, status: 'notPersisted' });
    expect(rig.receiver.delivered[0]?.headers['webhook-id']).toBe(accepted.reference);
    expect(rig.logged).toContain('submission forwarded without being stored');
    faults.write = rig.storage.write;
    // The next submission is stored again.
    expect(await rig.send(undefined, submissions)).toMatchObject({ status: 'delivered' });
    await closeLeadStore(submissions);
    expect(rig.receiver.delivered).toHaveLength(2);
    expect((await rig.row()).id).not.toBe(accepted.reference);
  });

  test('alerts the operator of unstored submissions after the store is back, and of the end a minute later', async () => {
    const { clock, storage } = rig;
    const alerts = openAlerts({
      ...{ storage, clock, newId: () => crypto.randomUUID(), log: noLog, hostname: 'x.example' },
      diskSpace: async () => ({ freeBytes: 1e12, wholeBytes: 2e12 }),
    });
    const told = () => storage.read((db) => db.selectFrom('messages').select('about').where('kind', '=', 'alert'));
    const { submissions, faults } = faulty({ onCompleted: alerts.attemptCompleted });
    // The alerts make no check of their own during the outage.
    await alerts.run();
    faults.write = away;
    await Promise.all([rig.send(ada, submissions), rig.send(undefined, submissions)]);
    faults.write = storage.write;
    expect(await told()).toEqual([]);
    clock.advance(5_000);
    await alerts.run();
    const once = JSON.stringify({ kind: 'store', counted: { '': 1 }, over: false });
    expect(await told()).toEqual([{ about: once }]);
    await storage.write((tx) => tx.updateTable('messages').set({ status: 'sent' }).execute());
    clock.advance(60_000);
    await alerts.run();
    expect((await told()).map(({ about }) => JSON.parse(about ?? '{}').over)).toEqual([false, true]);
    await storage.write((tx) => tx.deleteFrom('messages').execute());
    await closeLeadStore(submissions);
  });

  test('queues no alert if ALERT_EMAIL is not set', async () => {
    const { submissions, faults } = faulty({ onCompleted: noAlerts.attemptCompleted });
    faults.write = away;
    await rig.send(ada, submissions);
    faults.write = rig.storage.write;
    await noAlerts.run();
    expect(await rig.storage.read((db) => db.selectFrom('messages').selectAll())).toEqual([]);
    await closeLeadStore(submissions);
  });

  test('stores the submission if the store is back within two seconds', async () => {
    const { submissions, faults } = faulty();
    faults.write = away;
    setTimeout(() => {
      faults.write = rig.storage.write;
    }, 300);
    expect(await rig.send(ada, submissions)).toMatchObject({ status: 'delivered' });
    await closeLeadStore(submissions);
    expect(await rig.row()).toMatchObject({ status: 'delivered' });
  });

  test('sends the submission once if its commit seemed to fail and a later try finds the row', async () => {
    const { submissions, faults } = faulty();
    faults.write = async (run) => {
      await rig.storage.write(run);
      faults.write = rig.storage.write;
      return await away();
    };
    const { reference, status } = await rig.send(ada, submissions);
    await closeLeadStore(submissions);
    expect([status, rig.receiver.delivered.length]).toEqual(['delivered', 1]);
    expect(await rig.row()).toMatchObject({ id: reference, status: 'delivered', made: [{ by: 'first' }] });
  });

  test.each([
    ['an HTTP upstream', {}],
    ['the embedded inbox', { upstream: { embedded: true } }],
  ] as const)('throws for a subscription and sends nothing, with %s', async (_upstream, over) => {
    const { submissions, faults } = faulty(over);
    faults.write = away;
    const sending = rig.send(ada, submissions, undefined, () => expect.fail());
    await expect(sending).rejects.toThrow(StorageUnavailable);
    expect(rig.receiver.delivered).toEqual([]);
  });

  test('forwards the submission unstored if the disk is full', async () => {
    const { submissions, faults } = faulty();
    faults.requireDiskSpace = () => {
      throw new StorageUnavailable('The disk is full.');
    };
    expect(await rig.send(ada, submissions)).toMatchObject({ status: 'notPersisted' });
    expect(await rig.rows()).toEqual([]);
  });

  test('returns unsent only if no row of the submission can appear later', async () => {
    const unsent = { kind: 'unconfirmed', reason: 'refused', unsent: true } as const;
    const upstream = { embedded: false, deliver: async () => unsent, close: async () => {} } as const;
    const [lost, full] = [faulty({ upstream }), faulty({ upstream })];
    lost.faults.write = away;
    full.faults.requireDiskSpace = () => {
      throw new StorageUnavailable('The disk is full.');
    };
    const sent = await Promise.all([rig.send(ada, lost.submissions), rig.send(undefined, full.submissions)]);
    expect(sent.map(({ outcome }) => outcome)).toEqual([{ kind: 'unknown' }, unsent]);
  });

  test('the embedded inbox accepts no submission meanwhile, and counts the attempt', async () => {
    const counted: unknown[] = [];
    const countAttempt = (...attempt: unknown[]) => void counted.push(attempt);
    const completed: unknown[] = [];
    const { submissions, faults } = faulty({
      upstream: { embedded: true },
      metrics: { countAttempt },
      onCompleted: ({ by, outcome, next }) => void completed.push([by, outcome, next]),
    });
    faults.write = away;
    expect(await rig.send(ada, submissions)).toMatchObject({
      outcome: { kind: 'unconfirmed' },
      status: 'notPersisted',
    });
    faults.write = () => Promise.reject(new RangeError('a defect'));
    await expect(rig.send(ada, submissions)).rejects.toThrow('a defect');
    faults.write = rig.storage.write;
    expect(await rig.send(ada, submissions)).toMatchObject({ outcome: { kind: 'confirmed' }, status: 'delivered' });
    expect(await rig.rows()).toHaveLength(1);
    expect(counted).toEqual([
      ['unconfirmed', 'first'],
      ['confirmed', 'first'],
    ]);
    // An alert about an upstream of earlier settings ends.
    expect(completed).toEqual([['first', { kind: 'confirmed', known: false }, { kind: 'delivered' }]]);
  });

  test.each([
    [200, { status: 'delivered', reason: null }],
    [500, { status: 'undelivered', reason: 'sent_unkept' }],
  ])(
    'settles a row whose first commit succeeded although it seemed to fail, and never sends it again (%i)',
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
      expect(accepted).toMatchObject({ status: 'notPersisted' });
      expect(await rig.row()).toMatchObject({ id: accepted.reference, status: 'sending' });
      committed.resolve();
      rig.receiver.answer = answering(200);
      // The outcome is written before another row is claimed.
      await rig.send(undefined, submissions);
      const row = (await rig.rows()).find(({ id }) => id === accepted.reference);
      expect(row).toMatchObject(end);
      await closeLeadStore(submissions);
      await rig.age(LEASE_MS + 60 * 60_000);
      await completeExpiredAttempts(submissions);
      await redelivery.work();
      const sent = rig.receiver.delivered.map(({ headers }) => headers['webhook-id']);
      expect(sent.filter((id) => id === accepted.reference)).toHaveLength(1);
    },
  );

  test.each(['submission', 'redelivery'] as const)('writes a remembered outcome before another %s', async (next) => {
    const { submissions, redelivery, faults } = faulty();
    rig.receiver.answer = answering(500);
    await rig.send(undefined, submissions);
    await rig.age(120_000);
    rig.receiver.answer = (response) => {
      faults.write = away;
      response.writeHead(200).end();
    };
    const { reference, status } = await rig.send(ada, submissions);
    await until(() => submissions.pending.hasPendingWrites());
    const row = async () => (await rig.rows()).find(({ id }) => id === reference);
    expect([status, (await row())?.status]).toEqual(['delivered', 'sending']);
    faults.write = rig.storage.write;
    rig.receiver.answer = answering(200);
    if (next === 'redelivery') await redelivery.work();
    else await rig.send(undefined, submissions);
    expect(rig.receiver.delivered).toHaveLength(3);
    expect(await row()).toMatchObject({ status: 'delivered', made: [{ outcome: 'confirmed' }] });
    await closeLeadStore(submissions);
  });

  test('writes the outcome of an unstored submission only after a commit that is under way', async () => {
    const { submissions, faults } = faulty();
    const commit = Promise.withResolvers<void>();
    faults.write = (async (run: Parameters<Storage['write']>[0]) => {
      faults.write = rig.storage.write;
      await commit.promise;
      return await rig.storage.write(run);
    }) as Storage['write'];
    expect(await rig.send(ada, submissions)).toMatchObject({ status: 'notPersisted' });
    const closed = closeLeadStore(submissions);
    // A write that does not wait for the commit would be over after this one.
    await rig.storage.write((tx) => tx.deleteFrom('submissions').execute());
    commit.resolve();
    await closed;
    expect(await rig.row()).toMatchObject({ status: 'delivered', made: [{ outcome: 'confirmed' }] });
  });

  test('reads the status again after a failed read if another process ended the attempt', async () => {
    const { submissions, faults } = faulty();
    let answer = () => {};
    rig.receiver.answer = (response) => {
      answer = () => response.writeHead(500).end();
    };
    const sending = rig.send(ada, submissions);
    await until(() => rig.receiver.delivered.length === 1);
    await rig.age(LEASE_MS + 1_000);
    expect(await completeExpiredAttempts(rig.submissions)).toBe(1);
    await rig.change({ status: 'dismissed', step: null, next_attempt_ms: null });
    faults.read = () => {
      faults.read = rig.storage.read;
      return away();
    };
    answer();
    expect(await sending).toMatchObject({ status: 'failed' });
  });

  test('returns queued if another process ended a rejected attempt as unknown and reads fail', async () => {
    const { submissions, faults } = faulty();
    let answer = () => {};
    rig.receiver.answer = (response) => {
      answer = () => response.writeHead(422).end();
    };
    const sending = rig.send(ada, submissions);
    await until(() => rig.receiver.delivered.length === 1);
    await rig.age(LEASE_MS + 1_000);
    expect(await completeExpiredAttempts(rig.submissions)).toBe(1);
    faults.read = away;
    answer();
    expect(await sending).toMatchObject({ status: 'queued' });
    expect(await rig.row()).toMatchObject({ status: 'waiting', made: [{ outcome: 'unknown' }] });
  });

  test.each([
    [500, 'queued', { status: 'waiting', step: 0 }],
    [422, 'failed', { status: 'undelivered', reason: 'rejected' }],
  ] as const)(
    'returns the later status of a stored submission if its outcome can’t be written: %i, %s',
    async (answer, told, end) => {
      const { submissions, faults } = faulty();
      rig.receiver.answer = (response) => {
        faults.write = away;
        response.writeHead(answer).end();
      };
      expect(await rig.send(ada, submissions)).toMatchObject({ status: told });
      faults.write = rig.storage.write;
      await closeLeadStore(submissions);
      expect(await rig.row()).toMatchObject(end);
    },
  );

  test('rejects a first and a repeated submission with an error that is not about the store', async () => {
    const { submissions, faults } = faulty();
    const defect: Storage['write'] = () => Promise.reject(new RangeError('a defect'));
    faults.write = defect;
    await expect(rig.send(ada, submissions)).rejects.toThrow('a defect');
    expect(rig.receiver.delivered).toEqual([]);
    rig.receiver.answer = answering(500);
    await rig.send(ada);
    await expect(rig.send(ada, submissions)).rejects.toThrow('a defect');
    expect(rig.receiver.delivered).toHaveLength(1);
  });
});
