/** What is deleted from a real PostgreSQL is gone, or it is said that it is not. */
import { randomUUID } from 'node:crypto';
import pg from 'pg';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Storage } from '../../../src/storage/database.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';

describe.runIf(databases.length > 1)('scrubbing PostgreSQL', () => {
  let database: TestDatabase;
  let administrator: pg.Client;
  let storage: Storage;
  /** Owns the tables, and sees less of others than an administrator does. */
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
    await administrator.query('alter table inbox set (autovacuum_enabled = off)');
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
      "insert into inbox values ('e', 'lead.created', 'contact', 'a@b.example', '', '{}')",
    ),
  );

  async function connected(url: string): Promise<pg.Client> {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    return client;
  }
  const erase = () => administrator.query("delete from inbox where event_id = 'e'");
  /** Counted in the table's own pages. */
  const deadRows = async () => {
    const { rows } = await administrator.query<{ dead: string }>(
      "select dead_tuple_count as dead from pgstattuple('inbox')",
    );
    return Number(rows[0]?.dead);
  };

  test('what nobody sees any more goes', async () => {
    await erase();
    expect(await storage.scrub()).toBe('vacuumed');
    expect(await deadRows()).toBe(0);
  });

  test.each([
    ['reads', 'begin isolation level repeatable read; select from inbox'],
    ['has written', 'begin; create table of_another (id int)'],
  ])('a transaction that %s, and began before, is told of', async (_what, begin) => {
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

  test('a transaction that ends soon is waited for', async () => {
    const other = await connected(database.url);
    await other.query('begin isolation level repeatable read; select from inbox');
    await erase();
    const scrubbing = storage.scrub();
    await other.query('commit');
    expect(await scrubbing).toBe('vacuumed');
    await other.end();
  });

  test('a role that may not take dead rows out of somebody else’s tables says so', async () => {
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
