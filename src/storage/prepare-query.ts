/**
 * Queries that are built and compiled once: for each run that costs Kysely more than the statement
 * costs SQLite.
 */
import type { Compilable, CompiledQuery } from 'kysely';
import type { Storage } from './database.ts';
import type { Database } from './schema.ts';

type Parameters = Record<string, string | number | null>;

/**
 * Takes what builds a query from its parameters, each of which may stand in it as a value and nowhere
 * else; returns what reads with theirs what is committed.
 */
export function prepareRead<P extends Parameters, R>(
  read: Storage['read'],
  build: (parameters: P) => Compilable<R>,
): (parameters: P) => Promise<R[]> {
  const compiled = compileOnce(build);
  return (parameters) => read(compiled(parameters));
}

/** The same for a statement that changes a row or none; returns whether it did. */
export function prepareChange<P extends Parameters>(
  change: Storage['change'],
  build: (parameters: P) => Compilable<unknown>,
): (within: Database, parameters: P) => Promise<boolean> {
  const compiled = compileOnce(build);
  return (within, parameters) => change(within, compiled(parameters));
}

function compileOnce<P extends Parameters, R>(
  build: (parameters: P) => Compilable<R>,
): (parameters: P) => CompiledQuery<R> {
  // Built once with a symbol for each parameter, which marks its places in the compiled query.
  const marks = new Proxy({} as P, { get: (_, name) => Symbol(String(name)) });
  const compiled = build(marks).compile();
  return (parameters) => {
    const given = compiled.parameters.map((value) =>
      typeof value === 'symbol' ? parameters[value.description ?? ''] : value,
    );
    return { ...compiled, parameters: given };
  };
}
