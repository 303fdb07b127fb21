import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { openRetention } from '../../src/actions/retention.ts';
import type { Log } from '../../src/platform/log.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { steppedClock, testClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';
import { parts, unreported } from '../support/executions.ts';

const DAY_MS = 86_400_000;
const executing = { ...parts, embedded: true };
const NOW = '2026-09-01T12:00:00.000Z';
const daysAgo = (days: number, ms = 0) => new Date(Date.parse(NOW) - days * DAY_MS - ms).toISOString();

describe.each(databases)('retention of receipts on %s', (name, create) => {
  const clock = testClock(NOW);
  let database: TestDatabase;
  let storage: Storage;
  const lines: string[] = [];
  const entries: unknown[] = [];
  const note = (entry: unknown, text: string) => {
    entries.push(entry);
    lines.push(text);
  };
  const log = { debug: note, info: note, warn: note, error: note } as unknown as Log;
  const open = (days = 400, within = storage) => openRetention({ storage: within, clock, log, days });

  beforeAll(async () => {
    database = await create();
    storage = await database.open(clock);
    // Previews that a claim may still use have expired, by the lease clock of either database.
    clock.advance(DAY_MS);
    clock.step(-DAY_MS);
  });
  beforeEach(async () => {
    await storage.write((tx) => tx.deleteFrom('executions').execute());
    lines.length = 0;
    entries.length = 0;
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  async function keepReceipt(
    createdAt: string,
    more: { status?: 'executing' | 'failed' | 'submitted'; claimedMsAgo?: number } = {},
  ) {
    const { status = 'submitted', claimedMsAgo = 600_000 } = more;
    const id = randomUUID();
    const [leaseNow] = await storage.read((db) => db.selectNoFrom(storage.dialect.leaseClock.as('ms')));
    await storage.write((tx) =>
      tx
        .insertInto('executions')
        .values({
          action_id: id,
          action: 'contact',
          client: 'acme',
          idempotency_key: id,
          preview_digest: id,
          status,
          created_at: createdAt,
          confirmation_text: 'yes',
          confirmed_via: 'agent',
          destination: 'Vetted Painters',
          sandbox: 0,
          lease_started_ms: Number(leaseNow?.ms) - claimedMsAgo,
          lease_ms: 15_000,
          settled_at: status === 'executing' ? null : createdAt,
        })
        .execute(),
    );
    return id;
  }
  const kept = async () => {
    const rows = await storage.read((db) => db.selectFrom('executions').select('action_id'));
    return rows.map((row) => row.action_id).sort();
  };

  test('deletes submitted and failed receipts once they are older than the configured days', async () => {
    await keepReceipt(daysAgo(400, 1));
    await keepReceipt(daysAgo(900), { status: 'failed' });
    const young = [await keepReceipt(daysAgo(400)), await keepReceipt(daysAgo(399), { status: 'failed' })];
    expect(await open().work()).toBe(2);
    expect(await kept()).toEqual(young.sort());
    expect(await open(30).work()).toBe(2);
  });

  test('does not delete unsettled executions of any age', async () => {
    const id = await keepReceipt(daysAgo(900), { status: 'executing' });
    expect(await open().work()).toBe(0);
    expect(await kept()).toEqual([id]);
  });

  test('does not delete a receipt whose preview may still be open, even if the wall clock is years ahead', async () => {
    const id = await keepReceipt(daysAgo(900), { claimedMsAgo: 599_000 });
    expect(await open().work()).toBe(0);
    expect(await kept()).toEqual([id]);
  });

  test('frees the idempotency key when it deletes the receipt', async () => {
    const executions = openExecutions({ ...executing, storage, clock });
    const id = await keepReceipt(daysAgo(401));
    expect((await executions.find('acme', id, id)).byKey?.action_id).toBe(id);
    await open().work();
    expect(await executions.find('acme', id, id)).toEqual({
      byKey: undefined,
      byPreview: undefined,
    });
  });

  test('deletes 450 receipts in batches, each once, if two instances run at the same time', async () => {
    for (let number = 0; number < 450; number += 1) await keepReceipt(daysAgo(500 + number));
    const other = await database.open(clock);
    const deleted = await Promise.all([open().work(), open(400, other).work()]);
    await other.close();
    expect([deleted[0] + deleted[1], await kept()]).toEqual([450, []]);
  });

  test('finds old receipts by an index', async () => {
    const { rows } =
      storage.kind === 'sqlite'
        ? await storage.write((tx) => tx.executeQuery(plan('explain query plan')))
        : await storage.write(async (tx) => {
            await tx.executeQuery(plan('set local enable_seqscan = off', ''));
            return await tx.executeQuery(plan('explain'));
          });
    expect(JSON.stringify(rows)).toContain('executions_created_at');
  });

  test('runs a minute after the start and every hour, and logs an unavailable store once', async () => {
    const clock = steppedClock();
    /** Advances the clock, and lets what is due run. */
    const pass = async (ms: number) => {
      clock.advance(ms);
      await clock.turn();
    };
    let away = true;
    let tried = 0;
    const write: Storage['write'] = async () => {
      tried += 1;
      if (away) throw new StorageUnavailable('away');
      return [] as never;
    };
    const retention = openRetention({ storage: { ...storage, write }, clock, log, days: 400 });
    retention.start();
    await pass(59_999);
    expect(tried).toBe(0);
    await pass(1);
    for (let hour = 1; hour <= 2; hour += 1) await pass(3_600_000);
    expect([tried, lines]).toEqual([3, ['receipts past retention not deleted']]);
    expect(entries).toEqual([{ err: expect.any(StorageUnavailable) }]);
    away = false;
    await pass(3_600_000);
    away = true;
    await pass(3_600_000);
    expect([tried, lines.length]).toEqual([5, 2]);
    await retention.close();
    await pass(9 * 3_600_000);
    expect(tried).toBe(5);
  });

  test('logs the number of deleted receipts', async () => {
    await keepReceipt(daysAgo(401));
    await keepReceipt(daysAgo(402));
    const { retention, look } = lookedAtByHand();
    look();
    await retention.close();
    expect([entries, lines]).toEqual([[{ count: 2 }], ['receipts past retention deleted']]);
  });

  test('close waits for the running batch and starts no other batch', async () => {
    let finish: (deleted: number) => void = () => {};
    let batches = 0;
    const write: Storage['write'] = () => {
      batches += 1;
      return new Promise((resolve) => {
        finish = (deleted) => resolve(deleted as never);
      });
    };
    const { retention, look } = lookedAtByHand({ ...storage, write });
    look();
    let closed = false;
    const closing = retention.close().then(() => {
      closed = true;
    });
    await new Promise((resolve) => setImmediate(resolve));
    expect([batches, closed]).toEqual([1, false]);
    finish(200);
    await closing;
    expect(batches).toBe(1);
  });

  test('close works if the retention job never started', async () => {
    await open().close();
    expect(lines).toEqual([]);
  });

  test.runIf(name === 'PostgreSQL')('skips receipts that another instance has locked', async () => {
    const held = await keepReceipt(daysAgo(500));
    await keepReceipt(daysAgo(450));
    await storage.write(async (other) => {
      await other.selectFrom('executions').select('action_id').where('action_id', '=', held).forUpdate().execute();
      expect(await open().work()).toBe(1);
    });
    expect(await kept()).toEqual([held]);
  });

  /** Returns a retention whose timer the test fires. */
  function lookedAtByHand(within = storage) {
    let look = () => {};
    const after = (_ms: number, callback: () => void) => {
      look = callback;
      return () => {};
    };
    const options = { storage: within, clock: { ...clock, after }, log, days: 400 };
    const retention = openRetention(options);
    retention.start();
    return { retention, look: () => look() };
  }

  test('deletes an old receipt, but not its submission', async () => {
    const executions = openExecutions({ ...executing, storage, clock });
    const id = randomUUID();
    const request = {
      action_id: id,
      action: 'contact',
      client: 'acme',
      idempotency_key: id,
      preview_digest: id,
      confirmation_text: 'yes',
      confirmed_via: 'agent' as const,
      destination: 'Vetted Painters',
    };
    const claim = (await executions.claim(request, keep, unreported)) ?? expect.fail();
    await executions.conclude(claim, () => expect.fail());
    await storage.write((tx) =>
      tx
        .updateTable('executions')
        .set({ created_at: daysAgo(3_000), lease_started_ms: -DAY_MS })
        .execute(),
    );
    expect(await open(1).work()).toBe(1);
    expect(await storage.read((db) => db.selectFrom('submissions').select('id'))).toEqual([{ id }]);
  });
});

/** Returns the submission that is stored with a claim. */
const keep = () => ({
  form: 'contact',
  email: 'a@b.example',
  search_text: null,
  event: '{"data":{}}',
});

function plan(explain: string, query?: string) {
  const wanted =
    query ??
    " select action_id from executions where status <> 'executing' and created_at < '2026' order by created_at limit 200";
  return { sql: explain + wanted, parameters: [], query: {} as never, queryId: {} as never };
}

test('on SQLite, restarts the ten minutes of an open preview after a restart of the machine', async () => {
  const [, create] = databases[0] ?? expect.fail();
  const database = await create();
  const clock = testClock(NOW);
  clock.advance(DAY_MS);
  const storage = await database.open(clock);
  const executions = openExecutions({ ...executing, storage, clock });
  const id = randomUUID();
  const claim = await executions.claim(
    {
      action_id: id,
      action: 'contact',
      client: 'acme',
      idempotency_key: id,
      preview_digest: id,
      confirmation_text: 'yes',
      confirmed_via: 'agent' as const,
      destination: 'Vetted Painters',
    },
    keep,
    unreported,
  );
  await executions.conclude(claim ?? expect.fail(), () => expect.fail());
  await storage.close();
  // The machine starts with a wall clock that is years ahead.
  clock.step(900 * DAY_MS);
  const deletedAfter = async (upMs: number) => {
    const booted = { ...clock, monotonic: () => upMs };
    const reopened = await database.open(booted);
    const log = { info: () => {} } as unknown as Log;
    const retention = openRetention({ storage: reopened, clock: booted, log, days: 400 });
    return await retention.work().finally(reopened.close);
  };
  expect([await deletedAfter(5), await deletedAfter(599_999)]).toEqual([0, 0]);
  expect(await deletedAfter(600_000)).toBe(1);
  await database.remove();
});
