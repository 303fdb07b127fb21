/** PostgreSQL databases with another encoding, other schemas, or other session defaults. */
import { sql } from 'kysely';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { describeStartFault } from '../../../src/start/start-errors.ts';
import { StorageUnavailable } from '../../../src/storage/database.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';

describe.runIf(databases.length > 1)('openPostgres', () => {
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

  test('rejects a database whose encoding is LATIN1', async () => {
    const latin = `${name}_latin`;
    await administrator.query(
      `create database ${latin} encoding 'LATIN1' template template0 lc_collate 'C' lc_ctype 'C'`,
    );
    const url = new URL(database.url);
    url.pathname = latin;
    await expect(openPostgres(url.href)).rejects.toThrow(StorageUnavailable);
    await expect(openPostgres(url.href)).rejects.toThrow(/encoding of the database is LATIN1, .* ENCODING 'UTF8'/);
    await administrator.query(`drop database ${latin}`);
  });

  test('starts twice if another program’s migrations are in a later schema of the search_path', async () => {
    await administrator.query('create schema another; create schema service');
    await administrator.query('create table another.kysely_migration (name text)');
    const url = new URL(database.url);
    url.searchParams.set('options', '-c search_path=service,another');
    for (let times = 0; times < 2; times += 1) await (await openPostgres(url.href)).close();
    const { rows } = await administrator.query(
      "select 1 from service.kysely_migration union all select 1 from another.kysely_migration where name like '0%'",
    );
    expect(rows).toHaveLength(1);
  });

  test('finds its tables after another schema was created that precedes their schema in the search_path', async () => {
    const first = await openPostgres(database.url);
    const row = sql`insert into operator_audit values ('e', '', 'jo', 'sign_in', '{}')`;
    await first.write((tx) => row.execute(tx));
    await first.close();
    await administrator.query('create schema postgres');
    const again = await openPostgres(database.url);
    const rows = await again.read((db) => db.selectFrom('operator_audit').select('id'));
    expect(rows).toEqual([{ id: 'e' }]);
    await again.close();
  });

  /** Returns the sentence of a start that fails on that database. */
  async function saidOf(url: string): Promise<string> {
    const settings = {
      port: 3000,
      metricsPort: undefined,
      database: { kind: 'postgres', url },
    } as const;
    const error = await openPostgres(url).catch((fault: unknown) => fault);
    return describeStartFault(error, settings).sentence;
  }

  test('explains a search_path whose schema does not exist', async () => {
    const url = new URL(database.url);
    url.searchParams.set('options', '-c search_path=leads');
    expect(await saidOf(url.href)).toMatch(
      /^PostgreSQL can’t be used\. No schema of the search_path exists for this role\. .*create schema NAME/,
    );
  });

  describe('with a role that does not own the database', () => {
    const role = 'surroundings_role';
    let url: URL;
    beforeEach(async () => {
      url = new URL(database.url);
      await administrator.query(`create role ${role} login password 'of a test'`);
      url.username = role;
      url.password = 'of a test';
    });
    afterEach(() => administrator.query(`drop owned by ${role}; drop role ${role}`));

    test('explains that the role may not create tables in public', async () => {
      await administrator.query('revoke create on schema public from public');
      expect(await saidOf(url.href)).toMatch(
        /^PostgreSQL can’t be used\. This role may not create tables\. .*alter database NAME owner to ROLE/,
      );
    });

    test('explains that the role may not create tables in another schema', async () => {
      await administrator.query(`create schema leads; grant usage on schema leads to ${role}`);
      url.searchParams.set('options', '-c search_path=leads');
      expect(await saidOf(url.href)).toMatch(/may not create tables\. .*grant usage, create on schema/);
    });

    test('explains that the tables belong to another role', async () => {
      await (await openPostgres(database.url)).close();
      expect(await saidOf(url.href)).toMatch(
        /^PostgreSQL can’t be used, because this role may not use the tables\. .*DATABASE_URL\.$/,
      );
    });
  });

  test('runs transactions as read committed if the database defaults to serializable', async () => {
    await administrator.query(`alter database ${name} set default_transaction_isolation = 'serializable'`);
    const storage = await openPostgres(database.url);
    const asked = sql<{ level: string }>`select current_setting('transaction_isolation') as level`;
    const level = await storage.write(async (tx) => (await asked.execute(tx)).rows[0]?.level);
    expect(level).toBe('read committed');
    await storage.close();
  });
});
