/** How executions end: settled, late, expired, or by a click whose commit is unknown (reference §5.10, §10.6). */
import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { parseAttempts } from '../../src/submissions/attempts.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { confirmed, executionRow, fresh, keep, parts, rejected, told, unreported } from '../support/executions.ts';

describe.each(databases)('end of an execution on %s', (_name, create) => {
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
  const open = (over: Partial<Parameters<typeof openExecutions>[0]> = {}) =>
    openExecutions({ ...parts, storage, ...over });
  const never = () => expect.fail('The embedded inbox sends nothing.');

  /** Returns the status of an execution, and its submission. */
  async function stored(id: string) {
    const [executions, submissions] = await Promise.all([
      storage.read((db) => db.selectFrom('executions').select('status').where('action_id', '=', id)),
      storage.read((db) => db.selectFrom('submissions').select(['status', 'attempts']).where('id', '=', id)),
    ]);
    return { status: executions[0]?.status, submission: submissions[0] };
  }

  /** Inserts a pending confirmation. Returns the request of a click on "send". */
  async function pendingConfirmation() {
    const row = executionRow({ status: 'asked', settled_at: null });
    const { action_id: id, client, action, destination, idempotency_key, preview_digest, confirmation_text } = row;
    await storage.write(async (tx) => {
      await tx.insertInto('executions').values(row).execute();
      await tx
        .insertInto('confirmations')
        .values({
          ...{ id, client, action, destination, via: 'page', secret_digest: randomUUID(), mailbox_digest: id },
          ...{ created_at: row.created_at, expires_at: '9999', sandbox: 0, fields: '{}', email: 'ada@example.com' },
          ...{ code_number: 0, code_expires_at: null, wrong_codes: 0, press_id: null },
        })
        .execute();
    });
    const claimed = { action_id: id, client, action, destination, idempotency_key, preview_digest, confirmation_text };
    return { ...claimed, confirmed_via: 'client_form' as const, press_id: randomUUID() };
  }

  /** Returns a store whose next write fails, before or after its commit. */
  function failing(when: 'before the commit' | 'after the commit'): Storage {
    let isNext = true;
    const write: Storage['write'] = async (run) => {
      const fails = isNext;
      isNext = false;
      if (fails && when === 'before the commit') throw new StorageUnavailable('The store is away.');
      const result = await storage.write(run);
      if (fails) throw new StorageUnavailable('The store is away.');
      return result;
    };
    return { ...storage, write };
  }

  test('calls onSubmitted once after a confirmed delivery, and never after a failed one', async () => {
    let calls = 0;
    const executions = open({ onSubmitted: () => void calls++ });
    const [first, second] = [fresh(), fresh()];
    const refused = (await executions.claim(first, keep, unreported)) ?? expect.fail();
    await executions.conclude(refused, told(rejected));
    expect(calls).toBe(0);
    const claim = (await executions.claim(second, keep, unreported)) ?? expect.fail();
    for (let times = 0; times < 2; times += 1) {
      await executions.conclude(claim, told(confirmed));
      expect(calls).toBe(1);
    }
  });

  test('delivers to the embedded inbox once, and not after the lease has expired', async () => {
    const executions = open({ embedded: true, upstreamTimeoutMs: -6_000 });
    const [first, second] = [fresh(), fresh()];
    const claim = (await executions.claim(first, keep, unreported)) ?? expect.fail();
    expect(await executions.conclude(claim, never)).toEqual({
      outcome: { kind: 'confirmed', known: false },
      row: { ...claim, status: 'submitted' },
    });
    expect((await stored(first.action_id)).submission?.status).toBe('delivered');

    const late = (await executions.claim(second, keep, unreported)) ?? expect.fail();
    await executions.settleExpired();
    expect(await executions.conclude(late, never)).toMatchObject({
      outcome: { kind: 'unconfirmed', reason: 'The lease had expired.' },
      row: { action_id: second.action_id, status: 'failed' },
    });
    expect(await stored(second.action_id)).toEqual({ status: 'failed', submission: undefined });
  });

  test('an expired lease ends the submission with an unknown attempt, and a late confirmation delivers it', async () => {
    const executions = open({ upstreamTimeoutMs: -6_000 });
    const request = fresh();
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    await executions.settleExpired();
    const unknown = { at: claim.created_at, ms: -1_000, outcome: 'unknown', by: 'first', http_status: null };
    const { status, submission } = await stored(request.action_id);
    expect([status, submission?.status, parseAttempts(submission?.attempts ?? '')]).toEqual([
      'failed',
      'undelivered',
      [unknown],
    ]);
    expect((await executions.conclude(claim, told(confirmed))).row.status).toBe('failed');
    const late = await stored(request.action_id);
    expect([late.status, late.submission?.status]).toEqual(['failed', 'delivered']);
    expect(parseAttempts(late.submission?.attempts ?? '').map(({ outcome }) => outcome)).toEqual([
      'unknown',
      'confirmed',
    ]);
  });

  test('declines nothing while the disk is full', async () => {
    const requireDiskSpace = () => {
      throw new StorageUnavailable('The disk is full.');
    };
    const request = fresh();
    await expect(open({ storage: { ...storage, requireDiskSpace } }).decline(request)).rejects.toThrow('full');
    expect((await stored(request.action_id)).status).toBeUndefined();
  });

  test('find ends expired confirmations only if a row waits for the person', async () => {
    const pending = await pendingConfirmation();
    let calls = 0;
    const expirePending = async () => {
      calls += 1;
      const expire = storage.write((tx) =>
        tx
          .updateTable('executions')
          .set({ status: 'expired' })
          .where('action_id', '=', pending.action_id)
          .executeTakeFirst(),
      );
      return Number((await expire).numUpdatedRows);
    };
    const executions = open({ expirePending });
    const other = fresh();
    await executions.claim(other, keep, unreported);
    await executions.find(other.client, other.idempotency_key, other.preview_digest);
    expect(calls).toBe(0);
    // The key has an executing row, and the preview has a pending one.
    const { byPreview } = await executions.find(other.client, other.idempotency_key, pending.preview_digest);
    expect([byPreview?.status, calls]).toEqual(['expired', 1]);
  });

  test.each([
    ['after the commit', 'failed'],
    ['before the commit', 'asked'],
  ] as const)('a click whose claim fails %s leaves the execution %s', async (when, status) => {
    const request = await pendingConfirmation();
    const executions = open({ storage: failing(when) });
    await expect(executions.confirm(request, keep)).rejects.toThrow('away');
    await executions.close();
    const left = await stored(request.action_id);
    expect([left.status, left.submission?.attempts || 'none']).toEqual([status, 'none']);
  });

  test('the failure of one click does not end the claim of another click', async () => {
    const request = await pendingConfirmation();
    const executions = open({ storage: failing('before the commit') });
    await expect(executions.confirm(request, keep)).rejects.toThrow('away');
    const claim = (await open().confirm({ ...request, press_id: randomUUID() }, keep)) ?? expect.fail();
    await executions.close();
    expect((await stored(request.action_id)).status).toBe('executing');
    expect((await open().conclude(claim, told(confirmed))).row.status).toBe('submitted');
  });
});
