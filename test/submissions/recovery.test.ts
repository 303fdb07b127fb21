import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../src/storage/database.ts';
import { completeAttempt, completeExpiredAttempts, leaseAttempt, sendAttempt } from '../../src/submissions/attempts.ts';
import { EXPIRED_BATCH } from '../../src/submissions/submission-queries.ts';
import { databases } from '../support/databases.ts';
import { keepRows, submissionRow } from '../support/submissions.ts';
import { until } from '../support/until.ts';
import { answering } from '../support/upstream.ts';
import { LEASE_MS, type Rig, startRig, UPSTREAM_TIMEOUT_MS } from './rig.ts';

describe.each(databases)('recovery after a sender died or was paused, on %s (reference §10.6)', (_name, create) => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await startRig(await create());
  });
  afterEach(() => rig.clear());
  afterAll(() => rig.end());

  const wallNow = async () => {
    const [now] = await rig.storage.read((db) => db.selectNoFrom(rig.storage.dialect.wallClock.as('ms')));
    return Number(now?.ms);
  };

  test('records an expired attempt as unknown, and schedules the next attempt from the end of the lease', async () => {
    let died = () => {};
    rig.receiver.answer = (response) => {
      died = () => response.writeHead(200).end();
    };
    const sending = rig.send();
    await until(() => rig.receiver.delivered.length === 1);
    await rig.age(LEASE_MS - 1_000);
    expect(await completeExpiredAttempts(rig.submissions)).toBe(0);
    // The lease ended 30 seconds ago.
    await rig.age(31_000);
    expect(await completeExpiredAttempts(rig.instance().submissions)).toBe(1);
    const row = await rig.row();
    expect(row).toMatchObject({ status: 'waiting', step: 0 });
    expect(row.made).toEqual([
      { at: expect.any(String), ms: LEASE_MS, outcome: 'unknown', by: 'first', http_status: null },
    ]);
    // The attempt began with the lease, 45 seconds ago.
    const startedAt = Date.parse(row.made[0]?.at ?? '');
    expect(rig.clock.now().getTime() - startedAt).toBeGreaterThanOrEqual(45_000);
    expect(rig.clock.now().getTime() - startedAt).toBeLessThan(48_000);
    const dueInMs = Number(row.next_attempt_ms) - (await wallNow());
    expect(dueInMs).toBeGreaterThan(60_000 * 0.9 - 30_000 - 3_000);
    expect(dueInMs).toBeLessThan(60_000 * 1.1 - 30_000 + 1_000);
    died();
    // The person gets the true outcome. The row stays scheduled for redelivery.
    expect(await sending).toMatchObject({ status: 'delivered' });
    await rig.settled();
    expect((await rig.row()).status).toBe('waiting');
  });

  test('counts the attempt as unknown, and records the lease of the process that died', async () => {
    let answer = () => {};
    rig.receiver.answer = (response) => {
      answer = () => response.writeHead(500).end();
    };
    const { submissions } = rig.instance({ upstreamTimeoutMs: UPSTREAM_TIMEOUT_MS + 10_000 });
    const sending = rig.send(undefined, submissions);
    await until(() => rig.receiver.delivered.length === 1);
    await rig.age(LEASE_MS + 11_000);
    const counted: unknown[] = [];
    const completed: unknown[] = [];
    const other = rig.instance({
      metrics: { countAttempt: (...attempt) => void counted.push(attempt) },
      onCompleted: ({ outcome }) => void completed.push(outcome),
    });
    expect(await completeExpiredAttempts(other.submissions)).toBe(1);
    expect((await rig.row()).made).toMatchObject([{ ms: LEASE_MS + 10_000, outcome: 'unknown' }]);
    expect([counted, completed]).toEqual([[['unknown', 'first']], [{ kind: 'unknown' }]]);
    answer();
    await sending;
  });

  test('ends all expired attempts, also if one read does not return all of them', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    const row = submissionRow({ status: 'sending', lease_started_ms: 0, lease_ms: 0, fields_digest: null });
    const others = Array.from({ length: EXPIRED_BATCH }, () => ({ ...row, id: crypto.randomUUID() }));
    await keepRows(rig.storage, [row, ...others]);
    expect(await completeExpiredAttempts(rig.submissions)).toBe(EXPIRED_BATCH + 1);
    expect(new Set((await rig.rows()).map(({ status }) => status))).toEqual(new Set(['waiting']));
  });

  test('does not record unknown if the outcome arrives during recovery but can’t be written yet', async () => {
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
      expect(await sending).toMatchObject({ status: 'delivered' });
      rig.storage.write = write;
      return rows;
    };
    expect(await completeExpiredAttempts(rig.submissions)).toBe(0);
    expect((await rig.row()).status).toBe('sending');
    await completeExpiredAttempts(rig.submissions);
    const row = await rig.row();
    expect([row.status, row.made.map((made) => made.outcome)]).toEqual(['delivered', ['confirmed']]);
  });

  test('sends nothing after a pause that left no time on the lease', async () => {
    await rig.send();
    await rig.settled();
    rig.receiver.delivered.length = 0;
    await rig.change({ status: 'waiting', step: 0, next_attempt_ms: 0 });
    const taken = await leaseAttempt(rig.submissions, await rig.row(), 'redelivery');
    rig.clock.advance(LEASE_MS - UPSTREAM_TIMEOUT_MS);
    const { outcome } = await sendAttempt(rig.submissions, taken ?? expect.fail());
    expect([outcome.kind, rig.receiver.delivered.length]).toEqual(['unconfirmed', 0]);
  });

  test('settles only the attempt with its own number after a pause, and notifies nobody of another', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    await rig.age(3_600_000);
    const queued: string[] = [];
    const { submissions } = rig.instance({
      messages: ({ id }) => [async () => void queued.push(id)],
      onCompleted: ({ id }) => void queued.push(id),
    });
    const paused = (await leaseAttempt(submissions, await rig.row(), 'redelivery')) ?? expect.fail();
    await rig.age(LEASE_MS + 1_000);
    const other = rig.instance().submissions;
    await completeExpiredAttempts(other);
    const again = (await leaseAttempt(other, await rig.row(), 'redelivery')) ?? expect.fail();
    const attempt = { at: '', ms: 1, outcome: 'rejected', by: 'redelivery', http_status: 422 } as const;
    const outcome = { kind: 'rejected', status: 422 } as const;
    expect(await completeAttempt(submissions, paused, { outcome, attempt })).toEqual({ kind: 'overtaken' });
    expect(queued).toEqual([]);
    const row = await rig.row();
    expect([row.status, row.attempt_number]).toEqual(['sending', again.attempt_number]);
    expect(row.made.map((made) => made.outcome)).toEqual(['unconfirmed', 'unknown']);
  });

  test('grants only one of three leases that are requested at the same time for a row', async () => {
    rig.receiver.answer = answering(500);
    await rig.send();
    const row = await rig.row();
    const taken = await Promise.all([
      leaseAttempt(rig.submissions, row, 'redelivery'),
      leaseAttempt(rig.instance().submissions, row, 'person'),
      leaseAttempt(rig.instance().submissions, row, 'operator'),
    ]);
    expect(taken.filter((each) => each !== undefined)).toHaveLength(1);
    expect((await rig.row()).attempt_number).toBe(2);
  });

  test('ignores the row of an execution, which has no lease', async () => {
    await rig.send();
    await rig.settled();
    await rig.change({
      origin: 'agent',
      status: 'sending',
      lease_started_ms: null,
      lease_ms: null,
    });
    expect(await completeExpiredAttempts(rig.submissions)).toBe(0);
    expect((await rig.row()).status).toBe('sending');
  });
});
