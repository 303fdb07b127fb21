import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { receiptOf } from '../../src/actions/receipt.ts';
import { systemClock } from '../../src/clock.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import {
  confirmed,
  fresh,
  keep,
  parts,
  type Request,
  rejected,
  told,
  unreported,
} from '../support/executions.ts';

describe.each(databases)('executions on %s', (_name, create) => {
  let database: TestDatabase;
  let storage: Storage;
  beforeAll(async () => {
    database = await create();
    storage = await database.open(systemClock);
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });
  const open = (timeoutMs = 10_000, clock = systemClock) =>
    openExecutions({ ...parts, storage, clock, upstreamTimeoutMs: timeoutMs });
  const find = (request: Request, executions = open()) =>
    executions.find(request.client, request.idempotencyKey, request.previewDigest);

  test('a claim is found by its key and by its preview, in progress until it is settled, then for ever', async () => {
    const executions = open();
    const request = fresh();
    expect(await find(request)).toEqual({ byKey: undefined, byPreview: undefined });
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    expect((await find(request)).byKey).toMatchObject({
      action_id: request.actionId,
      status: 'executing',
      settled_at: null,
    });
    expect((await find(fresh({ previewDigest: request.previewDigest }))).byPreview?.action_id).toBe(
      request.actionId,
    );
    const { row } = await executions.conclude(claim, told(confirmed));
    expect(receiptOf(row)).toEqual({
      action_id: request.actionId,
      action: 'contact',
      status: 'submitted',
      created_at: claim.createdAt,
      consent_recorded_at: claim.createdAt,
      confirmation_text: 'I confirm',
      result: { ok: true },
    });
    expect(receiptOf((await find(request)).byKey ?? expect.fail())).toEqual(receiptOf(row));
  });

  test('of many claims for one key or one preview one wins', async () => {
    const executions = open();
    const key = fresh();
    const byKey = await Promise.all(
      Array.from({ length: 30 }, () =>
        executions.claim(fresh({ idempotencyKey: key.idempotencyKey }), keep, unreported),
      ),
    );
    expect(byKey.filter((claim) => claim !== undefined)).toHaveLength(1);
    const byPreview = await Promise.all(
      Array.from({ length: 30 }, () =>
        executions.claim(fresh({ previewDigest: key.previewDigest }), keep, unreported),
      ),
    );
    expect(byPreview.filter((claim) => claim !== undefined)).toHaveLength(1);
  });

  test('two instances race for one key: one wins', async () => {
    const other = await database.open(systemClock);
    const instances = [open(), openExecutions({ ...parts, storage: other })];
    for (let round = 0; round < 20; round += 1) {
      const { idempotencyKey } = fresh();
      const claims = await Promise.all(
        instances.flatMap((instance) => [
          instance.claim(fresh({ idempotencyKey }), keep, unreported),
          instance.claim(fresh({ idempotencyKey }), keep, unreported),
        ]),
      );
      expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
    }
    await other.close();
  });

  test('the same key of two clients is two keys', async () => {
    const executions = open();
    const request = fresh();
    expect(await executions.claim(request, keep, unreported)).toBeDefined();
    expect(
      await executions.claim(
        fresh({ idempotencyKey: request.idempotencyKey, client: 'other' }),
        keep,
        unreported,
      ),
    ).toBeDefined();
  });

  test('a settled receipt never changes', async () => {
    const executions = open();
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    await executions.conclude(claim, told(rejected));
    const { row } = await executions.conclude(claim, told(confirmed));
    expect(row.status).toBe('failed');
    expect((await find(request)).byKey?.status).toBe('failed');
  });

  test('a key that was used with another preview says nothing of this one', async () => {
    const request = fresh();
    await open().claim(request, keep, unreported);
    const { byKey, byPreview } = await find({ ...request, previewDigest: randomUUID() });
    expect([byKey?.action_id, byPreview]).toEqual([request.actionId, undefined]);
  });

  test('without room on the disk nothing is claimed', async () => {
    const requireRoom = () => {
      throw new StorageUnavailable('The disk is full.');
    };
    const executions = openExecutions({ ...parts, storage: { ...storage, requireRoom } });
    const request = fresh();
    await expect(executions.claim(request, keep, unreported)).rejects.toThrow('The disk is full.');
    expect(await find(request)).toEqual({ byKey: undefined, byPreview: undefined });
  });

  test('a look settles what has run out, and otherwise writes nothing', async () => {
    const { executions, writes } = counting();
    const [running, settled, forgotten] = [fresh(), fresh(), fresh()];
    await open().claim(running, keep, unreported);
    // A lease of less than no time has run out from the beginning.
    const expired = open(-6_000);
    const claim = (await expired.claim(settled, keep, unreported)) ?? expect.fail();
    await expired.conclude(claim, told(confirmed));
    await expired.claim(forgotten, keep, unreported);
    for (const request of [running, settled, fresh()]) await find(request, executions);
    expect(writes()).toBe(0);
    expect((await find(forgotten, executions)).byKey?.status).toBe('failed');
    expect(writes()).toBe(1);
  });

  test('a claim whose answer the store lost is settled as failed by the next look, once', async () => {
    const { executions, writes, lose } = counting();
    const request = fresh();
    lose('the answer');
    await expect(executions.claim(request, keep, unreported)).rejects.toThrow('away');
    lose('nothing');
    expect((await find(request)).byKey?.status).toBe('executing');
    const before = writes();
    expect((await find(request, executions)).byKey?.status).toBe('failed');
    await find(request, executions);
    expect(writes() - before).toBe(1);
  });

  test('what the upstream confirmed stays confirmed, though the store was away when it did', async () => {
    const { executions, lose } = counting();
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    lose('the statement');
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    lose('nothing');
    expect((await find(request, executions)).byKey?.status).toBe('submitted');
  });

  test('what the upstream confirmed is known until it is written, however often the store fails', async () => {
    const { executions, lose } = counting();
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    lose('the statement');
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    await expect(find(request, executions)).rejects.toThrow('away');
    await expect(executions.claim(fresh(), keep, unreported)).rejects.toThrow('away');
    await expect(executions.settleExpired()).rejects.toThrow('away');
    lose('nothing');
    expect((await find(request, executions)).byKey?.status).toBe('submitted');
  });

  test('what the upstream confirmed is written before the sweep looks for leases that ran out', async () => {
    const { executions, lose } = counting(-6_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    lose('the statement');
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    lose('nothing');
    await executions.settleExpired();
    expect((await find(request)).byKey?.status).toBe('submitted');
  });

  test('what the upstream confirmed stays confirmed, though a sweep came while the store was failing to keep it', async () => {
    let write: Storage['write'] = storage.write;
    const over = { ...storage, write: ((run) => write(run)) as Storage['write'] };
    const executions = openExecutions({ ...parts, storage: over, upstreamTimeoutMs: -5_000 });
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    const [begun, failed] = [Promise.withResolvers<void>(), Promise.withResolvers<never>()];
    write = () => {
      write = storage.write;
      begun.resolve();
      return failed.promise;
    };
    const concluded = executions.conclude(claim, told(confirmed));
    await begun.promise;
    const swept = executions.settleExpired();
    failed.reject(new StorageUnavailable('The store is away.'));
    await expect(concluded).rejects.toThrow('away');
    await swept;
    expect((await find(request)).byKey?.status).toBe('submitted');
  });

  test('what is learnt while a sweep looks, and can’t be written, is not ended as failed', async () => {
    let { read, write } = storage;
    const over = {
      ...storage,
      read: ((run) => read(run)) as Storage['read'],
      write: ((run) => write(run)) as Storage['write'],
    };
    const executions = openExecutions({ ...parts, storage: over, upstreamTimeoutMs: -5_000 });
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    read = async (run) => {
      read = storage.read;
      const rows = await read(run);
      write = () => Promise.reject(new StorageUnavailable('The store is away.'));
      await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
      write = storage.write;
      return rows;
    };
    await executions.settleExpired();
    expect((await find(request, executions)).byKey?.status).toBe('submitted');
  });

  test('what the upstream confirmed is written at the latest as the process ends, if the store is back', async () => {
    const { executions, lose } = counting();
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    lose('the statement');
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    await executions.close();
    expect((await find(request)).byKey?.status).toBe('executing');
    lose('nothing');
    await executions.close();
    expect((await find(request)).byKey?.status).toBe('submitted');
  });

  test('what has ended is found, though nothing can be written and a claim has failed', async () => {
    const { executions, lose } = counting();
    const ended = fresh();
    const claim = (await executions.claim(ended, keep, unreported)) ?? expect.fail();
    await executions.conclude(claim, told(confirmed));
    lose('the statement');
    await expect(executions.claim(fresh(), keep, unreported)).rejects.toThrow('away');
    expect((await find(ended, executions)).byKey?.status).toBe('submitted');
  });

  test('what is known of a lost answer is written before another claim asks for room', async () => {
    const away = () => {
      throw new StorageUnavailable('The store is away.');
    };
    let write: Storage['write'] = storage.write;
    let requireRoom = () => {};
    const executions = openExecutions({
      ...parts,
      storage: { ...storage, write: (run) => write(run), requireRoom: () => requireRoom() },
    });
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    write = away;
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    write = storage.write;
    requireRoom = away;
    await expect(executions.claim(fresh(), keep, unreported)).rejects.toThrow('away');
    expect((await find(request)).byKey?.status).toBe('submitted');
  });

  /** Executions over this store, which counts what is written and loses what it is told to. */
  function counting(timeoutMs = 10_000) {
    let count = 0;
    let lost: 'nothing' | 'the statement' | 'the answer' = 'nothing';
    const write: Storage['write'] = async (run) => {
      count += 1;
      if (lost === 'the statement') throw new StorageUnavailable('The store is away.');
      const result = await storage.write(run);
      if (lost === 'the answer') throw new StorageUnavailable('The store is away.');
      return result;
    };
    return {
      executions: openExecutions({
        ...parts,
        storage: { ...storage, write },
        upstreamTimeoutMs: timeoutMs,
      }),
      writes: () => count,
      lose: (what: typeof lost) => {
        lost = what;
      },
    };
  }

  test('a lease that has run out is settled as failed by whoever looks, and no send may start any more', async () => {
    const executions = open(-4_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    expect(claim.mayStart()).toBe(true);
    expect((await find(request, executions)).byKey?.status).toBe('executing');
    await expect
      .poll(async () => (await find(request, executions)).byKey?.status, { timeout: 5_000 })
      .toBe('failed');
    const { row } = await executions.conclude(claim, told(confirmed));
    expect(row.status).toBe('failed');
  });

  test('who goes on when the receipt is past its retention tells what it said', async () => {
    const executions = open(-6_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    const { outcome, row } = await executions.conclude(claim, async () => {
      await open().settleExpired();
      expect((await find(request)).byKey?.status).toBe('failed');
      await storage.write((tx) =>
        tx
          .deleteFrom('executions')
          .where('action_id', '=', request.actionId)
          .execute()
          .then(() => 1),
      );
      return told(confirmed)();
    });
    expect(outcome.kind).toBe('confirmed');
    expect(row).toMatchObject({ action_id: request.actionId, status: 'failed' });
  });

  test('expired claims are settled by the sweep, others are left', async () => {
    const [expired, running] = [fresh(), fresh()];
    await open(-5_000).claim(expired, keep, unreported);
    await open().claim(running, keep, unreported);
    await expect.poll(() => open().settleExpired(), { timeout: 2_000 }).toBeGreaterThanOrEqual(1);
    expect([(await find(expired)).byKey?.status, (await find(running)).byKey?.status]).toEqual([
      'failed',
      'executing',
    ]);
  });

  test('the fence is shut once no more than the upstream time-out is left of the lease, whatever the wall clock says', async () => {
    const clock = testClock();
    const claim = (await open(10_000, clock).claim(fresh(), keep, unreported)) ?? expect.fail();
    clock.step(86_400_000);
    expect(claim.mayStart()).toBe(true);
    clock.advance(4_999);
    expect(claim.mayStart()).toBe(true);
    clock.advance(1);
    expect(claim.mayStart()).toBe(false);
    clock.step(-3 * 86_400_000);
    expect(claim.mayStart()).toBe(false);
  });
});

test('on SQLite leases run on the monotonic clock alone, and end with a restart of the machine', async () => {
  const [, create] = databases[0] ?? expect.fail();
  const database = await create();
  const clock = testClock();
  const storage = await database.open(clock);
  const executions = openExecutions({ ...parts, storage, clock });
  const request = fresh();
  await executions.claim(request, keep, unreported);
  for (const step of [3_600_000, -7_200_000, 3 * 86_400_000, -6 * 86_400_000]) {
    clock.step(step);
    expect(await executions.settleExpired()).toBe(0);
  }
  clock.advance(14_999);
  expect(await executions.settleExpired()).toBe(0);
  clock.advance(1);
  expect(await executions.settleExpired()).toBe(1);
  await executions.claim(fresh(), keep, unreported);
  await storage.close();
  const rebooted = await database.open({ ...clock, monotonic: () => 5 });
  expect(
    await openExecutions({
      ...parts,
      storage: rebooted,
      clock: { ...clock, monotonic: () => 5 },
    }).settleExpired(),
  ).toBe(1);
  await rebooted.close();
  await database.remove();
});
