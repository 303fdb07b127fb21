/** A PostgreSQL that was set up otherwise than ours: its encoding, its schemas, what its sessions begin with. */
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';

describe.runIf(databases.length > 1)('a database of PostgreSQL', () => {
  let database: TestDatabase;
  let administrator: pg.Client;
  let name: string;
  beforeEach(async () => {
    database = await (databases[1]?.[1] ?? expect.fail())();
    name = new URL(database.url).pathname.slice(1);
    administrator = new pg.Client({ connectionString: database.url });
    await administrator.connect();
  });
  afterEach(async () => {
    await administrator.end();
    await database.remove();
  });

  test('that has no place for every character is refused at the start', async () => {
    const latin = `${name}_latin`;
    await administrator.query(
      `create database ${latin} encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'`,
    );
    const url = new URL(database.url);
    url.pathname = latin;
    await expect(openPostgres(url.href)).rejects.toThrow(StorageUnavailable);
    await expect(openPostgres(url.href)).rejects.toThrow(/encoding is LATIN1, .* ENCODING 'UTF8'/);
    await administrator.query(`drop database ${latin}`);
  });

  test('in which another program keeps migrations of its own is started on as well', async () => {
    await administrator.query('create schema another; create schema service');
    await administrator.query('create table another.kysely_migration (name text)');
    const url = new URL(database.url);
    url.searchParams.set('options', '-c search_path=service,another');
    for (let times = 0; times < 2; times += 1) await (await openPostgres(url.href)).close();
    const { rows } = await administrator.query(
      "select 1 from service.kysely_migration union all select 1 from another.kysely_migration where name like '0%'",
    );
    expect(rows.length).toBeGreaterThan(10);
  });

  test('whose tables are there is read on, also once a schema comes before theirs', async () => {
    const first = await openPostgres(database.url);
    const row = sql`insert into inbox values ('e', 'lead.created', 'contact', 'a@b.example', '', '{}')`;
    await first.write((tx) => row.execute(tx));
    await first.close();
    await administrator.query('create schema postgres');
    const again = await openPostgres(database.url);
    const rows = await again.read((db) => db.selectFrom('inbox').select('event_id'));
    expect(rows).toEqual([{ event_id: 'e' }]);
    await again.close();
  });

  test('whose transactions are stricter by default gives ours what they count on', async () => {
    await administrator.query(
      `alter database ${name} set default_transaction_isolation = 'serializable'`,
    );
    const storage = await openPostgres(database.url);
    const asked = sql<{ level: string }>`select current_setting('transaction_isolation') as level`;
    const level = await storage.write(async (tx) => (await asked.execute(tx)).rows[0]?.level);
    expect(level).toBe('read committed');
    await storage.close();
  });
});
