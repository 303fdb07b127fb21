import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions, receiptOf } from '../../src/actions/executions.ts';
import { prepareMessage } from '../../src/mail/messages.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { confirmed, fresh, keep, parts, type Request, rejected, told, unreported } from '../support/executions.ts';

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
    executions.find(request.client, request.idempotency_key, request.preview_digest);

  test('finds a claim by its key and by its preview, before and after it is settled', async () => {
    const executions = open();
    const request = fresh();
    expect(await find(request)).toEqual({ byKey: undefined, byPreview: undefined });
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    expect((await find(request)).byKey).toMatchObject({
      action_id: request.action_id,
      status: 'executing',
      settled_at: null,
    });
    expect((await find(fresh({ preview_digest: request.preview_digest }))).byPreview?.action_id).toBe(
      request.action_id,
    );
    const { row } = await executions.conclude(claim, told(confirmed));
    expect(receiptOf(row)).toEqual({
      action_id: request.action_id,
      action: 'contact',
      status: 'submitted',
      created_at: claim.created_at,
      consent_recorded_at: claim.created_at,
      confirmation_text: 'I confirm',
      result: { ok: true },
    });
    expect(receiptOf((await find(request)).byKey ?? expect.fail())).toEqual(receiptOf(row));
  });

  test('queues no message if the person was erased between the claim and its end', async () => {
    const add = prepareMessage(storage);
    const of = { kind: 'acknowledgement', about: null, message_id: '<1@x>', status: 'pending', now: '2026' } as const;
    const messages = ({ action_id: key }: { action_id: string }) => [add({ ...of, key })];
    const executions = openExecutions({ ...parts, storage, messages });
    const claims = await Promise.all([1, 2].map(() => executions.claim(fresh(), keep, unreported)));
    const [erased = expect.fail(), stays = expect.fail()] = claims;
    await storage.write((tx) => tx.deleteFrom('submissions').where('id', '=', erased.action_id).execute());
    for (const claim of [erased, stays]) await executions.conclude(claim, told(confirmed));
    const keys = await storage.read((db) => db.selectFrom('messages').select('key'));
    expect(keys).toEqual([{ key: stays.action_id }]);
  });

  test('grants one of 30 concurrent claims for one key or one preview', async () => {
    const executions = open();
    const key = fresh();
    const byKey = await Promise.all(
      Array.from({ length: 30 }, () =>
        executions.claim(fresh({ idempotency_key: key.idempotency_key }), keep, unreported),
      ),
    );
    expect(byKey.filter((claim) => claim !== undefined)).toHaveLength(1);
    const byPreview = await Promise.all(
      Array.from({ length: 30 }, () =>
        executions.claim(fresh({ preview_digest: key.preview_digest }), keep, unreported),
      ),
    );
    expect(byPreview.filter((claim) => claim !== undefined)).toHaveLength(1);
  });

  test('grants one claim if two instances race for one key', async () => {
    const other = await database.open(systemClock);
    const instances = [open(), openExecutions({ ...parts, storage: other })];
    for (let round = 0; round < 20; round += 1) {
      const { idempotency_key } = fresh();
      const claims = await Promise.all(
        instances.flatMap((instance) => [
          instance.claim(fresh({ idempotency_key }), keep, unreported),
          instance.claim(fresh({ idempotency_key }), keep, unreported),
        ]),
      );
      expect(claims.filter((claim) => claim !== undefined)).toHaveLength(1);
    }
    await other.close();
  });

  test('grants a claim to each of two clients that use the same idempotency key', async () => {
    const executions = open();
    const request = fresh();
    expect(await executions.claim(request, keep, unreported)).toBeDefined();
    expect(
      await executions.claim(fresh({ idempotency_key: request.idempotency_key, client: 'other' }), keep, unreported),
    ).toBeDefined();
  });

  test('never changes a settled receipt', async () => {
    const executions = open();
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    await executions.conclude(claim, told(rejected));
    const { row } = await executions.conclude(claim, told(confirmed));
    expect(row.status).toBe('failed');
    expect((await find(request)).byKey?.status).toBe('failed');
    const other = (await executions.claim(fresh(), keep, unreported)) ?? expect.fail();
    await executions.conclude(other, told(confirmed));
    expect((await executions.conclude(other, told(rejected))).row.status).toBe('submitted');
  });

  test('find returns no execution for an unused preview if the key was used with another preview', async () => {
    const request = fresh();
    await open().claim(request, keep, unreported);
    const { byKey, byPreview } = await find({ ...request, preview_digest: randomUUID() });
    expect([byKey?.action_id, byPreview]).toEqual([request.action_id, undefined]);
  });

  test('claims nothing while the disk is full', async () => {
    const requireDiskSpace = () => {
      throw new StorageUnavailable('The disk is full.');
    };
    const executions = openExecutions({ ...parts, storage: { ...storage, requireDiskSpace } });
    const request = fresh();
    await expect(executions.claim(request, keep, unreported)).rejects.toThrow('The disk is full.');
    expect(await find(request)).toEqual({ byKey: undefined, byPreview: undefined });
  });

  test('find writes to the database only if it settles an expired claim', async () => {
    const { executions, writes } = counting();
    const [running, settled, forgotten] = [fresh(), fresh(), fresh()];
    await open().claim(running, keep, unreported);
    // A negative lease has expired from the start.
    const expired = open(-6_000);
    const claim = (await expired.claim(settled, keep, unreported)) ?? expect.fail();
    await expired.conclude(claim, told(confirmed));
    await expired.claim(forgotten, keep, unreported);
    for (const request of [running, settled, fresh()]) await find(request, executions);
    expect(writes()).toBe(0);
    expect((await find(forgotten, executions)).byKey?.status).toBe('failed');
    expect(writes()).toBe(1);
  });

  test('if the answer to a claim is lost, the next find settles the claim as failed, once', async () => {
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

  test('settles a confirmed execution as submitted on the next find after the store was unavailable', async () => {
    const { executions, lose } = counting();
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    lose('the statement');
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    lose('nothing');
    expect((await find(request, executions)).byKey?.status).toBe('submitted');
  });

  test('remembers a confirmed outcome until it is written, however often the store fails', async () => {
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

  test('writes a remembered outcome before the sweep settles expired leases', async () => {
    const { executions, lose } = counting(-6_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    lose('the statement');
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    lose('nothing');
    await executions.settleExpired();
    expect((await find(request)).byKey?.status).toBe('submitted');
  });

  test('settles as submitted if a sweep runs while the write of the outcome fails', async () => {
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

  test('a sweep does not settle an execution as failed if its outcome arrives meanwhile and can’t be written', async () => {
    let { write } = storage;
    const over = { ...storage, write: ((run) => write(run)) as Storage['write'] };
    const executions = openExecutions({ ...parts, storage: over, upstreamTimeoutMs: -5_000 });
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    write = async (run) => {
      write = () => Promise.reject(new StorageUnavailable('The store is away.'));
      await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
      write = storage.write;
      return await write(run);
    };
    await executions.settleExpired();
    expect((await find(request, executions)).byKey?.status).toBe('submitted');
  });

  test('close writes a remembered outcome if the store is available again', async () => {
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

  test('find returns a settled execution while the store rejects writes, also after a failed claim', async () => {
    const { executions, lose } = counting();
    const ended = fresh();
    const claim = (await executions.claim(ended, keep, unreported)) ?? expect.fail();
    await executions.conclude(claim, told(confirmed));
    lose('the statement');
    await expect(executions.claim(fresh(), keep, unreported)).rejects.toThrow('away');
    expect((await find(ended, executions)).byKey?.status).toBe('submitted');
  });

  test('writes a remembered outcome before the next claim checks the disk space', async () => {
    const away = () => {
      throw new StorageUnavailable('The store is away.');
    };
    let write: Storage['write'] = storage.write;
    let requireDiskSpace = () => {};
    const executions = openExecutions({
      ...parts,
      storage: { ...storage, write: (run) => write(run), requireDiskSpace: () => requireDiskSpace() },
    });
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    write = away;
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    write = storage.write;
    requireDiskSpace = away;
    await expect(executions.claim(fresh(), keep, unreported)).rejects.toThrow('away');
    expect((await find(request)).byKey?.status).toBe('submitted');
  });

  /** Returns executions over a store that counts its writes and fails as the test says. */
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

  test('find settles an expired lease as failed, and a later confirmation changes nothing', async () => {
    const executions = open(-4_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    expect(claim.mayStart()).toBe(true);
    expect((await find(request, executions)).byKey?.status).toBe('executing');
    await expect.poll(async () => (await find(request, executions)).byKey?.status, { timeout: 5_000 }).toBe('failed');
    const { row } = await executions.conclude(claim, told(confirmed));
    expect(row.status).toBe('failed');
  });

  test('conclude returns the failed receipt if retention deleted it during the send', async () => {
    const executions = open(-6_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    const { outcome, row } = await executions.conclude(claim, async () => {
      await open().settleExpired();
      expect((await find(request)).byKey?.status).toBe('failed');
      await storage.write((tx) =>
        tx
          .deleteFrom('executions')
          .where('action_id', '=', request.action_id)
          .execute()
          .then(() => 1),
      );
      return told(confirmed)();
    });
    expect(outcome.kind).toBe('confirmed');
    expect(row).toMatchObject({ action_id: request.action_id, status: 'failed' });
  });

  test('the sweep settles expired claims and leaves running claims unchanged', async () => {
    const [expired, running] = [fresh(), fresh()];
    await open(-5_000).claim(expired, keep, unreported);
    await open().claim(running, keep, unreported);
    await expect.poll(() => open().settleExpired(), { timeout: 2_000 }).toBeGreaterThanOrEqual(1);
    expect([(await find(expired)).byKey?.status, (await find(running)).byKey?.status]).toEqual(['failed', 'executing']);
  });

  test('allows no send if only the upstream timeout remains of the lease, also if the wall clock changes', async () => {
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

test('leases on SQLite follow the monotonic clock and end if the machine restarts', async () => {
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
