import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions, receiptOf } from '../../src/actions/executions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { parseAttempts } from '../../src/submissions/attempts.ts';
import { setProgress } from '../../src/submissions/progress.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { confirmed, fresh, keep, parts, type Request, rejected, told, unreported } from '../support/executions.ts';

describe.each(databases)('submission of an execution on %s (reference §10.7)', (_name, create) => {
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
  const open = (timeoutMs = 10_000, keepsDelivered = true) =>
    openExecutions({ ...parts, storage, upstreamTimeoutMs: timeoutMs, keepsDelivered });
  const find = (request: Request, executions = open()) =>
    executions.find(request.client, request.idempotency_key, request.preview_digest);

  /** Returns the status of both rows of an execution, and the outcomes of its attempts. */
  const standing = async ({ action_id, ...request }: Request) => {
    const [row] = await storage.read((db) => db.selectFrom('submissions').selectAll().where('id', '=', action_id));
    const { byPreview } = await find({ action_id, ...request });
    const attempts = row && parseAttempts(row.attempts).map(({ outcome }) => outcome);
    return [byPreview?.status, row?.status, row?.reason, attempts];
  };

  test('stores neither delivery nor result with the embedded inbox if the commit of both fails', async () => {
    const { executions, lose } = counting(10_000, true);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    expect(await standing(request)).toEqual(['executing', undefined, undefined, undefined]);
    lose('the statement');
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    lose('nothing');
    // The outcome is known: nothing was delivered, so the next find settles the execution as failed.
    expect((await find(request, executions)).byKey?.status).toBe('failed');
    const { row, outcome } = await executions.conclude(claim, told(confirmed));
    expect([row.status, outcome, (await standing(request))[1]]).toEqual([
      'failed',
      { kind: 'unconfirmed', reason: 'The lease had expired.' },
      undefined,
    ]);
  });

  test('is delivered with the embedded inbox in the commit that settles the execution as submitted', async () => {
    const { executions, writes } = counting(10_000, true);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    const { row, outcome } = await executions.conclude(claim, () => expect.fail());
    expect([row.status, outcome, writes()]).toEqual(['submitted', confirmed, 2]);
    expect(await standing(request)).toEqual(['submitted', 'delivered', null, []]);
  });

  test('commits together with the claim, and ends in the commit that settles the execution (reference §10.7)', async () => {
    const ends = [
      [confirmed, ['submitted', 'delivered', null, ['confirmed']]],
      [rejected, ['failed', 'undelivered', 'execution_failed', ['rejected']]],
    ] as const;
    for (const [outcome, end] of ends) {
      const { executions, writes } = counting();
      const request = fresh();
      const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
      expect(writes()).toBe(1);
      expect(await standing(request)).toEqual(['executing', 'sending', null, []]);
      await executions.conclude(claim, told(outcome));
      expect(writes()).toBe(2);
      expect(await standing(request)).toEqual(end);
    }
  });

  test('is not stored for a claim that fails because another claim exists', async () => {
    const executions = open();
    const request = fresh();
    await executions.claim(request, keep, unreported);
    const again = { ...fresh(), idempotency_key: request.idempotency_key };
    expect(await executions.claim(again, keep, unreported)).toBeUndefined();
    const ids = await storage.read((db) =>
      db.selectFrom('submissions').select('id').where('id', 'in', [request.action_id, again.action_id]),
    );
    expect(ids).toEqual([{ id: request.action_id }]);
  });

  test('records a confirmation that arrives after the lease, and leaves the receipt unchanged (reference §10.7)', async () => {
    const executions = open(-6_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    await executions.settleExpired();
    expect(await standing(request)).toEqual(['failed', 'undelivered', 'execution_failed', ['unknown']]);
    const before = (await find(request)).byKey ?? expect.fail();
    const { row } = await executions.conclude(claim, told(confirmed));
    expect(receiptOf(row)).toEqual(receiptOf(before));
    expect(await standing(request)).toEqual(['failed', 'delivered', null, ['unknown', 'confirmed']]);
  });

  test('ignores a rejection that arrives after the lease', async () => {
    const executions = open(-6_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    await executions.settleExpired();
    const before = await standing(request);
    await executions.conclude(claim, told(rejected));
    expect(await standing(request)).toEqual(before);
  });

  test('loses its content when it is delivered, and not when it failed, if keepsDelivered is false', async () => {
    const emailOf = async ({ action_id }: Request) => {
      const [row] = await storage.read((db) => db.selectFrom('submissions').selectAll().where('id', '=', action_id));
      return [row?.status, row?.email];
    };
    const executions = open(10_000, false);
    for (const [outcome, end] of [
      [confirmed, ['delivered', null]],
      [rejected, ['undelivered', 'ada@example.com']],
    ] as const) {
      const request = fresh();
      const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
      expect(await emailOf(request)).toEqual(['sending', 'ada@example.com']);
      await executions.conclude(claim, told(outcome));
      expect(await emailOf(request)).toEqual(end);
    }
    const kept = fresh();
    await open().conclude((await open().claim(kept, keep, unreported)) ?? expect.fail(), told(confirmed));
    expect(await emailOf(kept)).toEqual(['delivered', 'ada@example.com']);
  });

  test.each([
    [confirmed, ['submitted', 'delivered', null, ['confirmed']]],
    [rejected, ['failed', 'dismissed', 'spam', ['rejected']]],
  ] as const)('ends after a mark as spam by its outcome: $0.kind', async (outcome, end) => {
    const executions = open();
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    const [id, spam] = [[request.action_id], { progress: 'spam', keepsContent: true } as const];
    await storage.write((tx) => setProgress(storage, tx, id, spam));
    await executions.conclude(claim, told(outcome));
    expect(await standing(request)).toEqual(end);
  });

  /** Opens executions over a store that counts writes and fails on demand. */
  function counting(timeoutMs = 10_000, embedded = false) {
    let count = 0;
    let lost: 'nothing' | 'the statement' = 'nothing';
    const write: Storage['write'] = async (run) => {
      count += 1;
      if (lost === 'the statement') throw new StorageUnavailable('The store is away.');
      return await storage.write(run);
    };
    return {
      executions: openExecutions({
        ...parts,
        storage: { ...storage, write },
        upstreamTimeoutMs: timeoutMs,
        embedded,
      }),
      writes: () => count,
      lose: (what: typeof lost) => {
        lost = what;
      },
    };
  }
});
