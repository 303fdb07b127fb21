/** Physical removal of deleted rows from a real PostgreSQL, and the result if it is not possible. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Storage } from '../../../src/storage/database.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';

describe.runIf(databases.length > 1)('scrub on PostgreSQL', () => {
  let database: TestDatabase;
  let administrator: pg.Client;
  let storage: Storage;
  /** Owns the tables, but sees less of other sessions than an administrator does. */
  let role: string;
  beforeAll(async () => {
    database = await (databases[1]?.[1] ?? expect.fail())();
    administrator = await connected(database.url);
    role = `service_${randomUUID().slice(0, 8)}`;
    await administrator.query(`create role ${role} login`);
    await administrator.query(`grant all on schema public to ${role}`);
    const address = new URL(database.url);
    address.username = role;
    storage = await openPostgres(address.href);
    await administrator.query('create extension pgstattuple');
    await administrator.query('alter table messages set (autovacuum_enabled = off)');
  });
  afterAll(async () => {
    await storage.close();
    await administrator.query(`drop owned by ${role}`);
    await administrator.query(`drop role ${role}`);
    await administrator.end();
    await database.remove();
  });
  beforeEach(() =>
    administrator.query(
      "insert into messages values ('notice', 'e', null, null, 2, 'm', 'sent', '', 0, '', null, null)",
    ),
  );

  async function connected(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  }
  const erase = () => administrator.query("delete from messages where key = 'e'");
  /** Returns the number of dead rows in the pages of the table. */
  const deadRows = async (table = 'messages') => {
    const { rows } = await administrator.query<{ dead: string }>(
      `select dead_tuple_count as dead from pgstattuple('${table}')`,
    );
    return Number(rows[0]?.dead);
  };

  test('returns vacuumed and removes deleted rows that no transaction can see', async () => {
    await erase();
    expect(await storage.scrub()).toBe('vacuumed');
    expect(await deadRows()).toBe(0);
  });

  test('removes deleted rows with the content of sandbox clients', async () => {
    await administrator.query('alter table sandbox_contents set (autovacuum_enabled = off)');
    await administrator.query("insert into sandbox_contents values ('s', 'ada@example.com', '{}', null)");
    await administrator.query("delete from sandbox_contents where id = 's'");
    await erase();
    expect(await deadRows('sandbox_contents')).toBe(1);
    expect(await storage.scrub()).toBe('vacuumed');
    expect(await deadRows('sandbox_contents')).toBe(0);
  });

  test.each([
    ['reads', 'begin isolation level repeatable read; select from messages'],
    ['has written', 'begin; create table of_another (id int)'],
  ])('returns seen if an earlier transaction that can see the deleted rows %s', async (_what, begin) => {
    const other = await connected(database.url);
    await other.query(begin);
    await erase();
    expect(await storage.scrub()).toBe('seen');
    expect(await deadRows()).toBe(1);
    await other.query('rollback');
    expect(await storage.scrub()).toBe('vacuumed');
    expect(await deadRows()).toBe(0);
    await other.end();
  });

  test('waits for an earlier transaction if that transaction ends soon', async () => {
    const other = await connected(database.url);
    await other.query('begin isolation level repeatable read; select from messages');
    await erase();
    const scrubbing = storage.scrub();
    await other.query('commit');
    expect(await scrubbing).toBe('vacuumed');
    await other.end();
  });

  test('returns unvacuumed if the role may not vacuum the tables of another role', async () => {
    const reader = `reader_${randomUUID().slice(0, 8)}`;
    await administrator.query(`create role ${reader} login`);
    await administrator.query(`grant all on all tables in schema public to ${reader}`);
    const address = new URL(database.url);
    address.username = reader;
    const theirs = await openPostgres(address.href);
    expect(await theirs.scrub()).toBe('unvacuumed');
    await theirs.close();
    await administrator.query(`drop owned by ${reader}`);
    await administrator.query(`drop role ${reader}`);
  });
});
