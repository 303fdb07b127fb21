import { Kysely, PostgresDialect, sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openExecutions } from '../../src/actions/executions.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { type Storage, StorageUnavailable } from '../../src/storage/database.ts';
import { migrate, migrations } from '../../src/storage/migrate.ts';
import type { Schema } from '../../src/storage/schema.ts';
import { tables } from '../../src/storage/schema.ts';
import { driverOf, kyselyOver, SqliteConnection } from '../../src/storage/sqlite/connection.ts';
import { openFile } from '../../src/storage/sqlite/file.ts';
import { databases, plainPool, type TestDatabase } from '../support/databases.ts';

describe.each(databases)('migrations on %s', (name, create) => {
  test('succeed if five instances start at the same time, also in the second round', async () => {
    const database = await create();
    for (let round = 0; round < 2; round += 1) {
      const storages = await Promise.all(Array.from({ length: 5 }, () => database.open(systemClock)));
      for (const storage of storages) {
        await storage.check();
        expect(await storage.read((db) => db.selectFrom('executions').selectAll())).toEqual([]);
      }
      await Promise.all(storages.map((storage) => storage.close()));
    }
    await database.remove();
  });

  test.runIf(name === 'PostgreSQL')(
    'leave a schema in which an execution settles while its table is replicated',
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
        expirePending: async () => 0,
      });
      const claim = await executions.claim(
        {
          action_id: 'a-1',
          action: 'contact',
          client: 'acme',
          idempotency_key: 'k-1',
          preview_digest: 'd-1',
          confirmation_text: 'I confirm.',
          confirmed_via: 'agent',
          destination: 'Vetted Painters',
        },
        () => ({ form: 'contact', email: null, search_text: null, event: '{}' }),
        '',
      );
      const confirmed = { kind: 'confirmed', known: false } as const;
      const attempt = { at: '', ms: 5, outcome: confirmed.kind, by: 'first', http_status: 200 } as const;
      const { row } = await executions.conclude(claim ?? expect.fail(), async () => ({
        outcome: confirmed,
        attempt,
      }));
      expect(row.status).toBe('submitted');
      await storage.close();
      await database.remove();
    },
  );

  test('reject each start while a migration fails, and store none of its changes', async () => {
    const database = await create();
    const storage = await database.open(systemClock);
    // Without the list of applied migrations, the first one finds its tables already there.
    const forget = sql`delete from kysely_migration`;
    await storage.write((tx) => forget.execute(tx));
    await storage.close();
    for (let start = 0; start < 2; start += 1) {
      await expect(database.open(systemClock)).rejects.toThrow(/already exists/);
    }
    await database.remove();
  });

  test('apply a second migration, after which the previous version still writes but no longer starts', async () => {
    const database = await create();
    const before = await database.open(systemClock);
    const list = {
      ...migrations,
      '0002-test': async () => ({
        up: (db: Kysely<unknown>) => sql`alter table operator_audit add column more text`.execute(db).then(() => {}),
      }),
    };
    await applying(database, before.kind, list);
    // The previous version runs beside the new one during a rolling restart.
    const row = { id: 'a-1', at: '', name: 'jo', what: 'sign_in', about: '{}' };
    await before.write((tx) => tx.insertInto('operator_audit').values(row).execute());
    expect(await before.read((db) => db.selectFrom('operator_audit').selectAll())).toEqual([{ ...row, more: null }]);
    await before.close();
    for (let start = 0; start < 2; start += 1) {
      await expect(database.open(systemClock)).rejects.toThrow(
        new StorageUnavailable('The database was written by a newer version of this program, so start that version.'),
      );
    }
    await database.remove();
  });

  test.each([['0001-executions-inbox-outbox', '0017-honeypot-counts'], ['another program’s']])(
    'reject the start on a database with the migrations %s',
    async (...names) => {
      const database = await create();
      const storage = await database.open(systemClock);
      await storage.write(async (tx) => {
        for (const table of tables.filter((each) => !each.startsWith('kysely'))) {
          await sql`drop table ${sql.table(table)}`.execute(tx);
        }
        await sql`delete from kysely_migration`.execute(tx);
        for (const each of names) {
          await sql`insert into kysely_migration (name, timestamp) values (${each}, '')`.execute(tx);
        }
      });
      await storage.close();
      await expect(database.open(systemClock)).rejects.toThrow(
        new StorageUnavailable(
          'The database was made by a version before 1.0, or by another program, so use a new database for this version.',
        ),
      );
      await database.remove();
    },
  );
});

/** Applies that list of migrations to the database. */
async function applying({ url }: TestDatabase, kind: Storage['kind'], list: typeof migrations): Promise<void> {
  if (kind === 'postgres') {
    const dialect = new PostgresDialect({ pool: plainPool(url) });
    const db = new Kysely<Schema>({ dialect });
    await migrate(db, kind, { list });
    return await db.destroy();
  }
  const path = url.slice('sqlite:'.length);
  const connection = new SqliteConnection(() => openFile(path, systemClock), systemClock);
  const db = kyselyOver(driverOf(connection));
  await migrate(db, kind, { list });
  await db.destroy();
}
