import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { receiptOf } from '../../src/actions/receipt.ts';
import { systemClock } from '../../src/clock.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { attemptsOf } from '../../src/submissions/attempts.ts';
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

describe.each(databases)('the submission of an execution, on %s (beyond §1)', (_name, create) => {
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
  const open = (timeoutMs = 10_000) =>
    openExecutions({ ...parts, storage, upstreamTimeoutMs: timeoutMs });
  const find = (request: Request, executions = open()) =>
    executions.find(request.client, request.idempotencyKey, request.previewDigest);

  /** What stands in the two rows of an execution; their attempts by outcome. */
  const standing = async ({ actionId, ...request }: Request) => {
    const [row] = await storage.read((db) =>
      db.selectFrom('submissions').selectAll().where('id', '=', actionId),
    );
    const { byPreview } = await find({ actionId, ...request });
    const attempts = row && attemptsOf(row.attempts).map(({ outcome }) => outcome);
    return [byPreview?.status, row?.status, row?.reason, attempts];
  };

  test('embedded: delivery and settling stand or fall together', async () => {
    const { executions, lose } = counting(10_000, true);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    expect(await standing(request)).toEqual(['executing', undefined, undefined, undefined]);
    lose('the statement');
    await expect(executions.conclude(claim, told(confirmed))).rejects.toThrow('away');
    lose('nothing');
    // What is known by then: nothing was delivered, so the next look settles it as failed.
    expect((await find(request, executions)).byKey?.status).toBe('failed');
    const { row, outcome } = await executions.conclude(claim, told(confirmed));
    expect([row.status, outcome, (await standing(request))[1]]).toEqual([
      'failed',
      { kind: 'unconfirmed', reason: 'The lease had run out.' },
      undefined,
    ]);
  });

  test('embedded: what was delivered is submitted, by the commit that delivered it, and nobody is asked', async () => {
    const { executions, writes } = counting(10_000, true);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    const { row, outcome } = await executions.conclude(claim, () => expect.fail());
    expect([row.status, outcome, writes()]).toEqual(['submitted', confirmed, 2]);
    expect(await standing(request)).toEqual(['submitted', 'delivered', null, []]);
  });

  test('a claim and its submission are one commit, and so are their ends (beyond §1)', async () => {
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

  test('a claim that loses keeps no submission', async () => {
    const executions = open();
    const request = fresh();
    await executions.claim(request, keep, unreported);
    const again = { ...fresh(), idempotencyKey: request.idempotencyKey };
    expect(await executions.claim(again, keep, unreported)).toBeUndefined();
    const ids = await storage.read((db) =>
      db
        .selectFrom('submissions')
        .select('id')
        .where('id', 'in', [request.actionId, again.actionId]),
    );
    expect(ids).toEqual([{ id: request.actionId }]);
  });

  test('a yes that comes after the lease is recorded, and its receipt stays as it was (beyond §1)', async () => {
    const executions = open(-6_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    await executions.settleExpired();
    expect(await standing(request)).toEqual([
      'failed',
      'undelivered',
      'execution_failed',
      ['unknown'],
    ]);
    const before = (await find(request)).byKey ?? expect.fail();
    const { row } = await executions.conclude(claim, told(confirmed));
    expect(receiptOf(row)).toEqual(receiptOf(before));
    expect(await standing(request)).toEqual([
      'failed',
      'delivered',
      null,
      ['unknown', 'confirmed'],
    ]);
  });

  test('a no that comes after the lease changes nothing', async () => {
    const executions = open(-6_000);
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    await executions.settleExpired();
    const before = await standing(request);
    await executions.conclude(claim, told(rejected));
    expect(await standing(request)).toEqual(before);
  });

  test('what an instance of the version before has settled during a roll is ended by the sweep; a yes that comes first is recorded', async () => {
    const executions = open();
    const [late, died, young] = [fresh(), fresh(), fresh()];
    const claim = (await executions.claim(late, keep, unreported)) ?? expect.fail();
    for (const request of [died, young]) await executions.claim(request, keep, unreported);
    // It knows of no submission.
    const settled = { status: 'failed', settled_at: '2026-09-01T12:00:00.000Z' } as const;
    const ids = [late, died, young].map(({ actionId }) => actionId);
    await storage.write(async (tx) => {
      await tx.updateTable('executions').set(settled).where('action_id', 'in', ids).execute();
      const longAgo = { received_ms: 0 };
      await tx.updateTable('submissions').set(longAgo).where('id', '=', died.actionId).execute();
    });
    await executions.conclude(claim, told(confirmed));
    await executions.settleExpired();
    expect(await standing(late)).toEqual(['failed', 'delivered', null, ['confirmed']]);
    expect(await standing(died)).toEqual([
      'failed',
      'undelivered',
      'execution_failed',
      ['unknown'],
    ]);
    expect(await standing(young)).toEqual(['failed', 'sending', null, []]);
  });

  /** Executions over this store, which counts what is written and loses what it is told to. */
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
