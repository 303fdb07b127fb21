/**
 * Queries that are built and compiled once: for each run that costs Kysely more than the statement
 * costs SQLite.
 */
import type { Compilable, QueryResult } from 'kysely';
import type { Database } from './schema.ts';

type Parameters = Record<string, string | number | null>;

/**
 * Takes what builds a query from its parameters, each of which may stand in it as a value and nowhere
 * else; returns what runs it with theirs, for its rows.
 */
export function prepareQuery<P extends Parameters, R>(
  build: (parameters: P) => Compilable<R>,
): (within: Database, parameters: P) => Promise<R[]> {
  const run = compileOnce(build);
  return async (within, parameters) => (await run(within, parameters)).rows;
}

/** The same for a statement that changes a row or none; returns whether it did. */
export function prepareChange<P extends Parameters>(
  build: (parameters: P) => Compilable<unknown>,
): (within: Database, parameters: P) => Promise<boolean> {
  const run = compileOnce(build);
  return async (within, parameters) => (await run(within, parameters)).numAffectedRows === 1n;
}

function compileOnce<P extends Parameters, R>(
  build: (parameters: P) => Compilable<R>,
): (within: Database, parameters: P) => Promise<QueryResult<R>> {
  // Built once with a symbol for each parameter, which marks its places in the compiled query.
  const marks = new Proxy({} as P, { get: (_, name) => Symbol(String(name)) });
  const compiled = build(marks).compile();
  return (within, parameters) => {
    const given = compiled.parameters.map((value) =>
      typeof value === 'symbol' ? parameters[value.description ?? ''] : value,
    );
    return within.executeQuery<R>({ ...compiled, parameters: given });
  };
}
