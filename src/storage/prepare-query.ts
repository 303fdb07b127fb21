/**
 * Queries that are built and compiled once: for each run that costs Kysely more than the statement
 * costs SQLite.
 */
import type { Compilable } from 'kysely';
import type { Database } from './schema.ts';

type Parameters = Record<string, string | number | null>;

/**
 * Takes what builds a query from its parameters, each of which may stand in it as a value and nowhere
 * else; returns what runs it with theirs.
 */
export function prepareQuery<P extends Parameters, R>(
  build: (parameters: P) => Compilable<R>,
): (within: Database, parameters: P) => Promise<R[]> {
  // Built once with a symbol for each parameter, which marks its places in the compiled query.
  const marks = new Proxy({} as P, { get: (_, name) => Symbol(String(name)) });
  const compiled = build(marks).compile();
  return async (within, parameters) => {
    const given = compiled.parameters.map((value) =>
      typeof value === 'symbol' ? parameters[value.description ?? ''] : value,
    );
    return (await within.executeQuery<R>({ ...compiled, parameters: given })).rows;
  };
}
