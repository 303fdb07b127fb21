/** Copies of a database that also has extensions, foreign tables, or tables of another version. */
import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { copyTo, examineCopy, restoreFrom, runProgram } from '../../../src/storage/postgres/copy.ts';
import { openPostgres } from '../../../src/storage/postgres/store.ts';
import { tables } from '../../../src/storage/schema.ts';
import { databases, type TestDatabase } from '../../support/databases.ts';
import { pgbouncerIsThere, startPgbouncer } from '../../support/pgbouncer.ts';
import { temporaryFolder } from '../../support/process.ts';

describe.runIf(databases.length > 1)('database shared with other programs', () => {
  let database: TestDatabase;
  let administrator: pg.Client;
  let role: string;
  /** The address for a role that owns only the service's tables. */
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

  test('contains exactly the listed tables of the service', async () => {
    await start();
    expect(await namesOf()).toEqual([...tables]);
  });

  test('gets a copy of the service’s tables only, which a role restores that owns nothing else', async () => {
    await start();
    await administrator.query('create extension pg_stat_statements');
    await administrator.query('create table somebody_elses (id int)');
    await copyTo(file, url);
    await examineCopy(file);
    await restoreFrom(file, url);
    await start();
    expect(await namesOf()).toEqual([...tables, 'somebody_elses'].sort());
  });

  test.each([
    ['an extension', 'create extension pg_stat_statements'],
    ['a schema public without its comment', 'comment on schema public is null'],
    ['a schema public of another owner', 'alter schema public owner to current_user'],
  ])('accepts the restore of a dump of the whole database with %s', async (_name, statement) => {
    await start();
    await administrator.query(statement);
    const options = ['--format=custom', '--no-owner', '--no-privileges', `--file=${file}`];
    await runProgram('pg_dump', options, database.url);
    await restoreFrom(file, url);
    await start();
  });

  test('loses on a restore each table of the service that a later version created after the copy', async () => {
    await start();
    await administrator.query('drop table honeypot_counts');
    await copyTo(file, url);
    await administrator.query('create table honeypot_counts (day text)');
    await administrator.query(`alter table honeypot_counts owner to ${role}`);
    await restoreFrom(file, url);
    expect(await namesOf()).not.toContain('honeypot_counts');
  });

  test('gets a restore into the schema of the copy, and another program’s tables stay unchanged', async () => {
    await administrator.query(`create schema "my app" authorization ${role}`);
    await administrator.query('create table public.honeypot_counts (theirs int)');
    await administrator.query('create table public.kysely_migration (name text)');
    await administrator.query("insert into public.kysely_migration values ('9999-theirs')");
    await administrator.query(`grant select on all tables in schema public to ${role}`);
    url += `?options=${encodeURIComponent('-c search_path="my\\ app",public')}`;
    await start();
    await administrator.query('drop table "my app".honeypot_counts');
    await copyTo(file, url);
    await administrator.query('create table "my app".honeypot_counts (day text)');
    await administrator.query(`alter table "my app".honeypot_counts owner to ${role}`);
    await restoreFrom(file, url);
    const { rows } = await administrator.query<{ place: string }>(
      "select schemaname || '.' || tablename as place from pg_tables where schemaname in ('public', 'my app')",
    );
    const expected = tables.filter((name) => name !== 'honeypot_counts').map((name) => `my app.${name}`);
    expect(rows.map(({ place }) => place).sort()).toEqual(
      [...expected, 'public.honeypot_counts', 'public.kysely_migration'].sort(),
    );
  });

  test('rejects a restore over a database of a newer version', async () => {
    await start();
    await copyTo(file, url);
    await administrator.query("insert into kysely_migration values ('9999-future', '')");
    await expect(restoreFrom(file, url)).rejects.toThrow(/Restore with that version/);
  });

  test('rejects a restore while the service runs with an application_name in its address', async () => {
    const service = await openPostgres(`${url}?application_name=mine`);
    await service.read((db) => db.selectFrom('operator_audit').select('id'));
    await copyTo(file, url);
    await expect(restoreFrom(file, url)).rejects.toThrow(/^The service is running/);
    await service.close();
  });

  test.runIf(pgbouncerIsThere)(
    'rejects copy and restore through a pooler, and leaves the pooler’s sessions usable',
    async () => {
      await start();
      await copyTo(file, url);
      const pooler = await startPgbouncer(database.url);
      const service = await openPostgres(pooler.url);
      const read = () => service.read((db) => db.selectFrom('operator_audit').select('id'));
      await read();
      await expect(copyTo(`${file}.2`, pooler.url)).rejects.toThrow(/is the address of a pooler/);
      await expect(restoreFrom(file, pooler.url)).rejects.toThrow(/is the address of a pooler/);
      for (let times = 0; times < 20; times += 1) expect(await read()).toEqual([]);
      expect(existsSync(`${file}.2`)).toBe(true);
      await service.close();
      await pooler.close();
    },
  );
});
