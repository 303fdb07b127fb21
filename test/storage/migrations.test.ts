import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { systemClock } from '../../src/clock.ts';
import {
  type OpenTransaction,
  type Storage,
  StorageUnavailable,
} from '../../src/storage/database.ts';
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
    await before.write((tx) => tx.insertInto('executions').values([settled, claimed]).execute());
    await before.close();

    const storage = await database.open(systemClock);
    const executions = openExecutions(storage, systemClock, 10_000);
    const find = (number: number) => executions.find('acme', `k-${number}`, `d-${number}`);
    expect((await find(1)).byKey).toMatchObject(settled);
    expect((await find(2)).byPreview).toMatchObject({
      ...claimed,
      status: 'failed',
      settled_at: expect.any(String),
    });
    // Both are still unique.
    for (const taken of [{ idempotency_key: 'k-1' }, { preview_digest: 'd-1' }]) {
      const fresh = { ...settled, action_id: 'a-3', idempotency_key: 'k-3', preview_digest: 'd-3' };
      const insert = storage.write((tx) =>
        tx
          .insertInto('executions')
          .values({ ...fresh, ...taken })
          .execute(),
      );
      await expect(insert).rejects.toThrow(/unique/i);
    }
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
      const executions = openExecutions(storage, systemClock, 10_000);
      const claim = await executions.claim({
        actionId: 'a-1',
        action: 'contact',
        client: 'acme',
        idempotencyKey: 'k-1',
        previewDigest: 'd-1',
        confirmationText: 'I confirm.',
      });
      const confirmed = { kind: 'confirmed', known: false } as const;
      const { row } = await executions.conclude(
        claim ?? expect.fail(),
        false,
        async () => confirmed,
      );
      expect(row.status).toBe('submitted');
      await storage.close();
      await database.remove();
    },
  );

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
