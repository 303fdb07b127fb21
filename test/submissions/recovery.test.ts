import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { databases } from '../support/databases.ts';
import { until } from '../support/until.ts';
import { answering } from '../support/upstream.ts';
import { LEASE_MS, type Rig, startRig, UPSTREAM_TIMEOUT_MS } from './rig.ts';

describe.each(databases)('a sender that died or was paused, on %s (beyond §1)', (_name, create) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(await create());
  });
  afterEach(() => rig.clear());
  afterAll(() => rig.end());

  const wallNow = async () => {
    const [now] = await rig.storage.read((db) =>
      db.selectNoFrom(rig.storage.dialect.wallClock.as('ms')),
    );
    return Number(now?.ms);
  };

  test('recovery appends the attempt as unknown, and the schedule counts from the end of its lease', async () => {
    let died = () => {};
    rig.receiver.answer = (response) => {
      died = () => response.writeHead(200).end();
    };
    const sending = rig.send();
    await until(() => rig.receiver.delivered.length === 1);
    await rig.age(LEASE_MS - 1_000);
    expect(await rig.submissions.settleExpired()).toBe(0);
    // Its lease ended 30 seconds ago.
    await rig.age(31_000);
    expect(await rig.instance().submissions.settleExpired()).toBe(1);
    const row = await rig.row();
    expect(row).toMatchObject({ status: 'waiting', step: 0 });
    expect(row.made).toEqual([
      { at: expect.any(String), ms: LEASE_MS, outcome: 'unknown', by: 'first' },
    ]);
    const dueInMs = Number(row.next_attempt_ms) - (await wallNow());
    expect(dueInMs).toBeGreaterThan(60_000 * 0.9 - 30_000 - 3_000);
    expect(dueInMs).toBeLessThan(60_000 * 1.1 - 30_000 + 1_000);
    died();
    // The person hears the truth; the row was given to its redelivery and stays so.
    expect(await sending).toMatchObject({ standing: 'delivered' });
    await rig.settled();
    expect((await rig.row()).status).toBe('waiting');
  });

  test('what is learnt while recovery looks, and can’t be written, is not ended as unknown', async () => {
    let confirm = () => {};
    rig.receiver.answer = (response) => {
      confirm = () => response.writeHead(200).end();
    };
    const sending = rig.send();
    await until(() => rig.receiver.delivered.length === 1);
    await rig.age(LEASE_MS + 1_000);
    const { read, write } = rig.storage;
    rig.storage.read = async (run) => {
      rig.storage.read = read;
      const rows = await read(run);
      rig.storage.write = () => Promise.reject(new StorageUnavailable('away'));
      confirm();
      expect(await sending).toMatchObject({ standing: 'delivered' });
      rig.storage.write = write;
      return rows;
    };
    expect(await rig.submissions.settleExpired()).toBe(0);
    expect((await rig.row()).status).toBe('sending');
    await rig.submissions.settleExpired();
    const row = await rig.row();
    expect([row.status, row.made.map((made) => made.outcome)]).toEqual([
      'delivered',
      ['confirmed'],
    ]);
  });

  test('one that was paused until its lease left no time sends nothing', async () => {
    await rig.send();
    await rig.settled();
    rig.receiver.delivered.length = 0;
    await rig.change({ status: 'waiting', step: 0, next_attempt_ms: 0 });
    const taken = await rig.submissions.take(await rig.row(), 'redelivery');
    rig.clock.advance(LEASE_MS - UPSTREAM_TIMEOUT_MS);
    const { outcome } = await rig.submissions.attempt(taken ?? expect.fail());
    expect([outcome.kind, rig.receiver.delivered.length]).toEqual(['unconfirmed', 0]);
  });

  test('one that wakes up settles nothing of the attempt after its own: each is settled by its number', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    await rig.age(3_600_000);
    const paused = (await rig.submissions.take(await rig.row(), 'redelivery')) ?? expect.fail();
    await rig.age(LEASE_MS + 1_000);
    const other = rig.instance().submissions;
    await other.settleExpired();
    const again = (await other.take(await rig.row(), 'redelivery')) ?? expect.fail();
    const attempt = { at: '', ms: 1, outcome: 'rejected', by: 'redelivery' } as const;
    const outcome = { kind: 'rejected', status: 422 } as const;
    await rig.submissions.settle(paused, { outcome, attempt });
    const row = await rig.row();
    expect([row.status, row.attempt_number]).toEqual(['sending', again.attempt_number]);
    expect(row.made.map((made) => made.outcome)).toEqual(['unconfirmed', 'unknown']);
  });

  test('of two who take a row one gets it', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    const row = await rig.row();
    const taken = await Promise.all([
      rig.submissions.take(row, 'redelivery'),
      rig.instance().submissions.take(row, 'person'),
      rig.instance().submissions.take(row, 'operator'),
    ]);
    expect(taken.filter((each) => each !== undefined)).toHaveLength(1);
    expect((await rig.row()).attempt_number).toBe(2);
  });

  test('a row of an execution has no lease of its own, and is left alone', async () => {
    await rig.send();
    await rig.settled();
    await rig.change({
      origin: 'agent',
      status: 'sending',
      lease_started_ms: null,
      lease_ms: null,
    });
    expect(await rig.submissions.settleExpired()).toBe(0);
    expect((await rig.row()).status).toBe('sending');
  });
});
