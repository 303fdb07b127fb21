import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { systemClock } from '../../src/clock.ts';
import {
  type OpenTransaction,
  type Storage,
  StorageUnavailable,
} from '../../src/storage/database.ts';
import { areMissing } from '../../src/storage/migrate.ts';
import type { ExecutionRow } from '../../src/storage/schema.ts';
import { databases } from '../support/databases.ts';

describe.each(databases)('migrations on %s', (name, create) => {
  test('several instances may start at once, and again', async () => {
    const database = await create();
    for (let round = 0; round < 2; round += 1) {
      const storages = await Promise.all(
        Array.from({ length: 5 }, () => database.open(systemClock)),
      );
      for (const storage of storages) {
        await storage.check();
        expect(await storage.read((db) => db.selectFrom('executions').selectAll())).toEqual([]);
      }
      await Promise.all(storages.map((storage) => storage.close()));
    }
    await database.remove();
  });

  test('receipts and claims of the version before are kept, and settled by the new one', async () => {
    const database = await create();
    const before = await database.open(systemClock);
    await before.write((tx) => toVersion3(tx, before.kind));
    const row = {
      action: 'contact',
      client: 'acme',
      created_at: '2026-09-01T00:00:00.000Z',
      confirmation_text: 'I confirm.',
      lease_started_ms: 0,
      lease_ms: 1,
    };
    const settled = {
      ...row,
      action_id: 'a-1',
      idempotency_key: 'k-1',
      preview_digest: 'd-1',
      status: 'submitted' as const,
      settled_at: '2026-09-01T00:00:01.000Z',
    };
    const claimed = {
      ...row,
      action_id: 'a-2',
      idempotency_key: 'k-2',
      preview_digest: 'd-2',
      status: 'executing' as const,
      settled_at: null,
    };
    const theirs = [settled, claimed] as ExecutionRow[];
    await before.write((tx) => tx.insertInto('executions').values(theirs).execute());
    await before.close();

    const storage = await database.open(systemClock);
    const executions = openExecutions({
      storage,
      clock: systemClock,
      upstreamTimeoutMs: 10_000,
      embedded: false,
      keepsDelivered: true,
    });
    const find = (number: number) => executions.find('acme', `k-${number}`, `d-${number}`);
    expect((await find(1)).byKey).toMatchObject({ ...settled, confirmed_via: 'agent' });
    expect((await find(2)).byPreview).toMatchObject({
      ...claimed,
      status: 'failed',
      settled_at: expect.any(String),
    });
    // Both are still unique.
    for (const taken of [{ idempotency_key: 'k-1' }, { preview_digest: 'd-1' }]) {
      const fresh = { ...settled, action_id: 'a-3', idempotency_key: 'k-3', preview_digest: 'd-3' };
      const confirmed = { confirmed_via: 'agent' as const };
      const insert = storage.write((tx) =>
        tx
          .insertInto('executions')
          .values({ ...fresh, ...confirmed, ...taken })
          .execute(),
      );
      await expect(insert).rejects.toThrow(/unique/i);
    }
    await storage.close();
    await database.remove();
  });

  test('what the inbox of the version before holds is kept as delivered, and stays where it was', async () => {
    const database = await create();
    const before = await database.open(systemClock);
    await before.write(toVersion4);
    const event = (origin: string) =>
      JSON.stringify({ type: 'lead.created', data: { origin, fields: { email: 'a@b.example' } } });
    const lead = {
      event_id: 'e-1',
      type: 'lead.created',
      form: 'contact',
      email: 'a@b.example',
      received_at: '2026-09-01T00:00:00.250Z',
      event: event('agent'),
    };
    const subscription = {
      ...lead,
      event_id: 'e-2',
      type: 'subscriber.created',
      form: 'newsletter',
      received_at: '2026-09-02T00:00:00.000Z',
      event: event('browser'),
    };
    await before.write((tx) => tx.insertInto('inbox').values([lead, subscription]).execute());
    await before.close();

    const storage = await database.open(systemClock);
    const rows = await storage.read((db) =>
      db.selectFrom('submissions').selectAll().orderBy('received_ms'),
    );
    expect(rows).toMatchObject([
      {
        id: 'e-1',
        form: 'contact',
        origin: 'agent',
        email: 'a@b.example',
        subscriber: null,
        received_ms: Date.parse(lead.received_at),
        event: lead.event,
        status: 'delivered',
        status_since_ms: Date.parse(lead.received_at),
        stored_here: 1,
      },
      { id: 'e-2', origin: 'browser', subscriber: 'a@b.example' },
    ]);
    expect(await storage.read((db) => db.selectFrom('inbox').selectAll())).toHaveLength(2);
    await storage.close();
    await database.remove();
  });

  test.runIf(name === 'PostgreSQL')(
    'executions can be replicated: a row is told by its preview',
    async () => {
      const database = await create();
      const storage = await database.open(systemClock);
      const replicated = sql`create publication everything for all tables`;
      await storage.write((tx) => replicated.execute(tx));
      const executions = openExecutions({
        storage,
        clock: systemClock,
        upstreamTimeoutMs: 10_000,
        embedded: false,
        keepsDelivered: true,
      });
      const claim = await executions.claim(
        {
          actionId: 'a-1',
          action: 'contact',
          client: 'acme',
          idempotencyKey: 'k-1',
          previewDigest: 'd-1',
          confirmationText: 'I confirm.',
          confirmedVia: 'agent',
          destination: 'Vetted Painters',
        },
        () => ({ form: 'contact', email: null, telephone: null, event: '{}' }),
        () => [],
      );
      const confirmed = { kind: 'confirmed', known: false } as const;
      const attempt = { at: '', ms: 5, outcome: confirmed.kind, by: 'first' } as const;
      const { row } = await executions.conclude(claim ?? expect.fail(), async () => ({
        outcome: confirmed,
        attempt,
      }));
      expect(row.status).toBe('submitted');
      await storage.close();
      await database.remove();
    },
  );

  test('a database that has had all of them lacks none', async () => {
    const database = await create();
    const storage = await database.open(systemClock);
    const applied = sql<{ name: string }>`select name from kysely_migration order by name`;
    const { rows } = await storage.write((tx) => applied.execute(tx));
    const names = rows.map((row) => row.name);
    expect([areMissing(names), areMissing(names.slice(0, -1)), areMissing([])]).toEqual([
      false,
      true,
      true,
    ]);
    await storage.close();
    await database.remove();
  });

  test('a migration that fails fails the start, each time: nothing of it is kept', async () => {
    const database = await create();
    const storage = await database.open(systemClock);
    // As if none had been applied: the first finds its tables there.
    const forget = sql`delete from kysely_migration`;
    await storage.write((tx) => forget.execute(tx));
    await storage.close();
    for (let start = 0; start < 2; start += 1) {
      await expect(database.open(systemClock)).rejects.toThrow(/already exists/);
    }
    await database.remove();
  });

  test('a newer schema is refused with a sentence', async () => {
    const database = await create();
    const storage = await database.open(systemClock);
    const future = sql`insert into kysely_migration (name, timestamp) values ('9999-from-the-future', '2030-01-01')`;
    await storage.write((tx) => future.execute(tx));
    await storage.close();
    await expect(database.open(systemClock)).rejects.toThrow(StorageUnavailable);
    await expect(database.open(systemClock)).rejects.toThrow(/newer version/);
    await database.remove();
  });
});

/** Takes back what 0004 did, as a database of the version before has it. */
async function toVersion3(db: OpenTransaction, kind: Storage['kind']): Promise<void> {
  await toVersion4(db);
  if (kind === 'postgres')
    await sql`alter table executions add primary key (action_id)`.execute(db);
  else {
    await sql`drop table executions`.execute(db);
    await sql`create table executions (action_id text primary key, action text not null, client text not null, idempotency_key text not null, preview_digest text not null unique, status text not null, created_at text not null, confirmation_text text not null, lease_started_ms double precision not null, lease_ms integer not null, settled_at text, constraint executions_client_key unique (client, idempotency_key))`.execute(
      db,
    );
    await sql`create index executions_in_progress on executions (lease_started_ms) where status = 'executing'`.execute(
      db,
    );
    await sql`create index executions_created_at on executions (created_at)`.execute(db);
  }
  await sql`delete from kysely_migration where name like '0004-%'`.execute(db);
}

/** Takes back what 0005 and later did. */
async function toVersion4(db: OpenTransaction): Promise<void> {
  for (const table of [
    'submissions',
    'subscribers',
    'messages',
    'mail_hours',
    'confirmations',
    'confirmation_codes',
    'confirmation_reports',
    'mailbox_keys',
    'operator_links',
    'operator_sessions',
    'operator_audit',
  ]) {
    await sql`drop table ${sql.table(table)}`.execute(db);
  }
  await sql`drop index executions_action`.execute(db);
  for (const column of ['confirmed_via', 'destination', 'signed_receipt', 'receipt_kid']) {
    await sql`alter table executions drop column ${sql.ref(column)}`.execute(db);
  }
  await sql`delete from kysely_migration where name >= '0005'`.execute(db);
}
