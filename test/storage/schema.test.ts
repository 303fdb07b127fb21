/**
 * The schema that the migrations create in an empty database, as each kind of database describes it.
 * A released migration never changes, or existing databases would differ from new ones.
 * After a new migration, run `npm test -- test/storage/schema.test.ts -u` and read the difference.
 */
import { sql } from 'kysely';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/platform/clock.ts';
import { databases } from '../support/databases.ts';

const definitions = {
  SQLite: sql<{ definition: string }>`
    select sql as definition from sqlite_schema
    where sql is not null and tbl_name not like 'kysely%' order by tbl_name, type desc, name`,
  PostgreSQL: sql<{ definition: string }>`
    select definition from (
      select table_name as owner, 1 as part, ordinal_position as place, table_name || '.' || column_name || ' ' ||
        data_type || case is_nullable when 'NO' then ' not null' else '' end as definition
      from information_schema.columns where table_schema = 'public'
      union all
      select conrelid::regclass::text, 2, row_number() over (order by conname),
        conrelid::regclass || ' ' || conname || ' ' || pg_get_constraintdef(oid)
      from pg_constraint where connamespace = 'public'::regnamespace and contype <> 'n'
      union all
      select tablename, 3, row_number() over (order by indexname), indexdef from pg_indexes where schemaname = 'public'
      union all
      select relname, 4, 1, relname || ' replica identity ' || relreplident::text
      from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r'
    ) parts where owner not like 'kysely%' order by owner, part, place`,
};

test.each(databases)('the migrations create the recorded schema in an empty database on %s', async (name, create) => {
  const database = await create();
  const storage = await database.open(systemClock);
  const { rows } = await storage.write((tx) => definitions[name as keyof typeof definitions].execute(tx));
  await storage.close();
  await database.remove();
  const lines = rows.map(({ definition }) => `${definition}\n`).join('');
  await expect(lines).toMatchFileSnapshot(`schema.${name.toLowerCase()}.txt`);
});
