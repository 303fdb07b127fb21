/** In which schema our tables are, where a search path names several, or changes. */
import pg from 'pg';
import { FIRST_MIGRATION } from '../migrate.ts';

type Found = { name: string };

/**
 * Takes what asks the database; returns the schema's name: of those that are seen the first with migrations of ours. Another program may keep its own in a table of the same name. Undefined where there is none.
 */
export async function ownSchema(
  ask: (statement: string) => Promise<{ rows: object[] }>,
): Promise<string | undefined> {
  const { rows } = await ask(`
    select nspname as name from pg_class join pg_namespace on pg_namespace.oid = relnamespace
    where relname = 'kysely_migration' and nspname = any (current_schemas(false))
    order by array_position(current_schemas(false), nspname)`);
  for (const { name } of rows as Found[]) {
    const ours = `select from ${pg.escapeIdentifier(name)}.kysely_migration where name = '${FIRST_MIGRATION}'`;
    if ((await ask(ours)).rows.length > 0) return name;
  }
  return undefined;
}
