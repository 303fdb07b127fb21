/** Copies where our tables are not alone: extensions, tables of somebody else, and of another version of ours. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { copyTo, examineCopy, restoreFrom } from '../../../src/storage/postgres/copy.ts';
import { runProgram } from '../../../src/storage/postgres/programs.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { tables } from '../../../src/storage/tables.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { pgbouncerIsThere, startPgbouncer } from '../../support/pgbouncer.ts';
import { temporaryFolder } from '../../support/process.ts';

describe.runIf(databases.length > 1)('a database that others use as well', () => {
  let database: TestDatabase;
  let administrator: pg.Client;
  let role: string;
  /** The address of the role that owns our tables, and nothing else. */
  let url: string;
  let file: string;

  beforeEach(async () => {
    database = await (databases[1]?.[1] ?? expect.fail())();
    administrator = new pg.Client({ connectionString: database.url });
    await administrator.connect();
    role = `service_${randomUUID().slice(0, 8)}`;
    await administrator.query(`create role ${role} login`);
    await administrator.query(`grant all on schema public to ${role}`);
    const address = new URL(database.url);
    address.username = role;
    url = address.href;
    file = join(temporaryFolder(), 'copy.dump');
  });
  afterEach(async () => {
    await administrator.query(`drop owned by ${role}`);
    await administrator.end();
    await database.remove();
    const other = new pg.Client({ connectionString: new URL('/postgres', database.url).href });
    await other.connect();
    await other.query(`drop role ${role}`);
    await other.end();
  });

  const namesOf = async () => {
    const { rows } = await administrator.query<{ name: string }>(
      "select tablename as name from pg_tables where schemaname = 'public' order by 1",
    );
    return rows.map(({ name }) => name);
  };
  const start = async () => (await openPostgres(url)).close();

  test('every table of ours is known by name, and no other', async () => {
    await start();
    expect(await namesOf()).toEqual([...tables]);
  });

  test('is copied without what is not ours, and restored by who owns nothing else', async () => {
    await start();
    await administrator.query('create extension pg_stat_statements');
    await administrator.query('create table somebody_elses (id int)');
    await copyTo(file, url);
    await examineCopy(file);
    await restoreFrom(file, url);
    await start();
    expect(await namesOf()).toEqual([...tables, 'somebody_elses'].sort());
  });

  test('a copy of the whole of it, with an extension, is restored as well', async () => {
    await start();
    await administrator.query('create extension pg_stat_statements');
    const options = ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`];
    await runProgram('pg_dump', options, database.url);
    await restoreFrom(file, url);
    await start();
  });

  test('what a version has made after the copy is gone after it is restored, and the version can start again', async () => {
    await start();
    await administrator.query('drop table mailbox_keys');
    await administrator.query("delete from kysely_migration where name like '0015%'");
    await copyTo(file, url);
    await start();
    await administrator.query("insert into mailbox_keys values ('k', 'w')");
    await restoreFrom(file, url);
    expect(await namesOf()).not.toContain('mailbox_keys');
    await start();
    expect((await administrator.query('select * from mailbox_keys')).rows).toEqual([]);
  });

  test('is restored into the schema that it was copied from, and another program’s tables stay', async () => {
    await administrator.query(`create schema "my app" authorization ${role}`);
    await administrator.query('create table public.mailbox_keys (theirs int)');
    await administrator.query('create table public.kysely_migration (name text)');
    await administrator.query("insert into public.kysely_migration values ('9999-theirs')");
    await administrator.query(`grant select on all tables in schema public to ${role}`);
    url += `?options=${encodeURIComponent('-c search_path="my\\ app",public')}`;
    await start();
    await administrator.query('drop table "my app".mailbox_keys');
    await administrator.query(`delete from "my app".kysely_migration where name like '0015%'`);
    await copyTo(file, url);
    await start();
    await restoreFrom(file, url);
    const { rows } = await administrator.query<{ place: string }>(
      "select schemaname || '.' || tablename as place from pg_tables where schemaname in ('public', 'my app')",
    );
    const expected = tables
      .filter((name) => name !== 'mailbox_keys')
      .map((name) => `my app.${name}`);
    expect(rows.map(({ place }) => place).sort()).toEqual(
      [...expected, 'public.mailbox_keys', 'public.kysely_migration'].sort(),
    );
  });

  test('of a newer version is not restored, for nobody else knows its tables', async () => {
    await start();
    await copyTo(file, url);
    await administrator.query("insert into kysely_migration values ('9999-future', '')");
    await expect(restoreFrom(file, url)).rejects.toThrow(/restore with that version/);
  });

  test('that the service has open under a name of the address’s own is not restored', async () => {
    const service = await openPostgres(`${url}?application_name=mine`);
    await service.read((db) => db.selectFrom('inbox').select('event_id'));
    await copyTo(file, url);
    await expect(restoreFrom(file, url)).rejects.toThrow(/^The service is running/);
    await service.close();
  });

  test.runIf(pgbouncerIsThere)(
    'through a pooler nothing is copied or restored, and its sessions stay as they are',
    async () => {
      await start();
      await copyTo(file, url);
      const pooler = await startPgbouncer(database.url);
      const service = await openPostgres(pooler.url);
      const read = () => service.read((db) => db.selectFrom('inbox').select('event_id'));
      await read();
      await expect(copyTo(`${file}.2`, pooler.url)).rejects.toThrow(/leads to a pooler/);
      await expect(restoreFrom(file, pooler.url)).rejects.toThrow(/leads to a pooler/);
      for (let times = 0; times < 20; times += 1) expect(await read()).toEqual([]);
      expect(existsSync(`${file}.2`)).toBe(true);
      await service.close();
      await pooler.close();
    },
  );
});
