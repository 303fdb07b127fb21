/** The job that deletes tests of sandbox clients, on both databases (reference §27.6). */
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { BATCH_ROWS } from '../../src/actions/retention.ts';
import type { Log } from '../../src/platform/log.ts';
import { openSandboxRetention } from '../../src/sandbox/retention.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { steppedClock } from '../support/clock.ts';
import { databases, type TestDatabase } from '../support/databases.ts';

const DAY_MS = 86_400_000;

describe.each(databases)('retention of sandbox clients on %s', (_name, create) => {
  const clock = steppedClock();
  let database: TestDatabase;
  let storage: Storage;
  const lines: unknown[] = [];
  const log = { error: (...line: unknown[]) => lines.push(line) } as unknown as Log;
  const open = (within = storage) => openSandboxRetention({ storage: within, clock, log });
  /** Returns the time this many milliseconds ago. */
  const ago = (ms: number) => new Date(clock.now().getTime() - ms).toISOString();

  beforeAll(async () => {
    database = await create();
    storage = await database.open(clock);
    // The leases of the rows are then old, according to the clock of either database.
    clock.advance(DAY_MS);
  });
  beforeEach(async () => {
    await storage.write(async (tx) => {
      for (const table of ['executions', 'sandbox_contents', 'confirmations', 'confirmation_reports'] as const) {
        await tx.deleteFrom(table).execute();
      }
    });
    lines.length = 0;
  });
  afterAll(async () => {
    await storage.close();
    await database.remove();
  });

  /** Stores executions with their contents and confirmations. */
  async function store(ids: readonly string[], createdAt: string, sandbox: 0 | 1 = 1): Promise<void> {
    const [lease] = await storage.read((db) => db.selectNoFrom(storage.dialect.leaseClock.as('ms')));
    const common = { action: 'contact', client: 'acme', created_at: createdAt, destination: 'Paint Match', sandbox };
    await storage.write(async (tx) => {
      await tx
        .insertInto('executions')
        .values(
          ids.map((id) => ({
            ...common,
            ...{ action_id: id, idempotency_key: id, preview_digest: id, status: 'submitted' as const },
            ...{ confirmation_text: 'yes', confirmed_via: 'page' as const, settled_at: createdAt },
            ...{ lease_started_ms: Number(lease?.ms) - DAY_MS, lease_ms: 15_000 },
          })),
        )
        .execute();
      await tx
        .insertInto('confirmations')
        .values(
          ids.map((id) => ({
            ...common,
            ...{ id, via: 'page' as const, secret_digest: id, mailbox_digest: id, expires_at: createdAt },
            ...{ fields: null, email: null, code_number: 0, wrong_codes: 0 },
          })),
        )
        .execute();
      await tx
        .insertInto('sandbox_contents')
        .values(ids.map((id) => ({ id, event: '{}', email: null, disclosures: null })))
        .execute();
    });
  }
  const report = (mailbox_digest: string, reported_at: string, sandbox: 0 | 1 = 1) =>
    storage.write((tx) =>
      tx
        .insertInto('confirmation_reports')
        .values({ client: 'acme', mailbox_digest, reported_at, seen: 0, sandbox })
        .execute(),
    );
  /** Returns the ids of the stored executions, confirmations and contents, which must be the same. */
  async function stored(): Promise<string[]> {
    const executions = await storage.read((db) => db.selectFrom('executions').select('action_id as id'));
    const confirmations = await storage.read((db) => db.selectFrom('confirmations').select('id'));
    const contents = await storage.read((db) => db.selectFrom('sandbox_contents').select('id'));
    const [ids, ...others] = [executions, confirmations, contents].map((rows) => rows.map(({ id }) => id).sort());
    for (const other of others) expect(other).toEqual(ids);
    return ids ?? [];
  }
  const reports = async () => {
    const rows = await storage.read((db) => db.selectFrom('confirmation_reports').select('mailbox_digest'));
    return rows.map((row) => row.mailbox_digest).sort();
  };

  test('deletes executions after 24 hours, with their contents and confirmations', async () => {
    await store(['old'], ago(DAY_MS + 1));
    await store(['exact'], ago(DAY_MS));
    await store(['real'], ago(2 * DAY_MS), 0);
    await open().work();
    expect(await stored()).toEqual(['exact', 'real']);
  });

  test('deletes reports after 24 hours, also if no execution is due', async () => {
    await report('old', ago(DAY_MS + 1));
    await report('exact', ago(DAY_MS));
    await report('real', ago(2 * DAY_MS), 0);
    await open().work();
    expect(await reports()).toEqual(['exact', 'real']);
  });

  test('deletes every due execution in one run, also more than one batch', async () => {
    for (const batch of ['a', 'b']) {
      await store(
        Array.from({ length: BATCH_ROWS }, (_, n) => `${batch}${n}`),
        ago(DAY_MS + 1),
      );
    }
    await store(['last'], ago(DAY_MS + 1));
    await open().work();
    expect(await stored()).toEqual([]);
  });

  test('deletes only the current batch if the job is closed', async () => {
    for (const batch of ['a', 'b']) {
      await store(
        Array.from({ length: BATCH_ROWS }, (_, n) => `${batch}${n}`),
        ago(DAY_MS + 1),
      );
    }
    const job = open();
    const work = job.work();
    await job.close();
    await work;
    expect(await stored()).toHaveLength(BATCH_ROWS);
  });

  test('runs 1 minute after the start, and then every hour', async () => {
    const job = open();
    job.start();
    // A read of the tables can see a deletion in some of them only, so a difference counts as not gone.
    const isGone = () => expect.poll(stored, { timeout: 10_000 }).toEqual([]);
    await store(['first'], ago(DAY_MS + 1));
    clock.advance(59_999);
    expect(await stored()).toEqual(['first']);
    clock.advance(1);
    await isGone();
    await store(['second'], ago(DAY_MS + 1));
    clock.advance(3_599_999);
    expect(await stored()).toEqual(['second']);
    clock.advance(1);
    await isGone();
    await job.close();
  });

  test('logs a failed run once', async () => {
    const write: Storage['write'] = async () => {
      throw new StorageUnavailable('away');
    };
    const job = open({ ...storage, write });
    await job.run();
    await job.run();
    await job.close();
    expect(lines).toEqual([[{ err: expect.any(StorageUnavailable) }, 'tests of sandbox clients not deleted']]);
  });
});
