/**
 * Queries that are built and compiled once, at their first use: for each run that costs Kysely more
 * than the statement costs SQLite. Each parameter stands for a value, and nothing else:
 *
 *     const erase = prepareChange(storage, (db, of: { id: string }) =>
 *       db.deleteFrom('inbox').where('event_id', '=', of.id));
 *     const changed = await storage.write(erase({ id }));
 *
 * The builder runs a single time, at the first run: with a mark (a symbol) in the place of each value.
 * Kysely lists the marks among the values of what it compiles, and each run puts its own there. So
 * whoever runs a query names the same parameters every time.
 */
import type {
  Compilable,
  CompiledQuery,
  DeleteResult,
  InsertQueryBuilder,
  InsertResult,
  Kysely,
  QueryCreator,
  RawBuilder,
  UpdateResult,
} from 'kysely';
import type { Change, Read, Selects, Storage } from './database.ts';
import type { Schema } from './schema.ts';

type Parameters = Record<string, string | number | null>;

/** Takes what builds a select from its parameters; returns what makes it ready for `storage.read`. */
export function prepareRead<P extends Parameters, R>(
  storage: Pick<Storage, 'compile'>,
  build: (db: Selects, of: P) => Compilable<R>,
): (of: P) => Read<R> {
  const compiled = compileOnce(storage, build);
  return (of) => ({ read: compiled(of) });
}

/** The same for one statement that changes rows and returns none, for `storage.write` or `tx.change`. */
export function prepareChange<P extends Parameters>(
  storage: Pick<Storage, 'compile'>,
  build: (db: QueryCreator<Schema>, of: P) => ChangesRows,
): (of: P) => Change {
  const compiled = compileOnce(storage, build);
  return (of) => ({ change: compiled(of) as CompiledQuery<never> });
}

/** One statement that changes rows and returns none. */
type ChangesRows = Compilable<InsertResult | UpdateResult | DeleteResult>;

/**
 * Two statements that stand or fall together, the second only where the first changed a row: it says so by
 * `.where(firstChanged)`. On PostgreSQL they are one statement, without the round trips of a transaction.
 */
export function prepareBoth<P extends Parameters>(
  storage: Pick<Storage, 'compile' | 'dialect'>,
  first: (db: QueryCreator<Schema>, of: P) => ChangesRows,
  second: (db: QueryCreator<Schema>, of: P, firstChanged: RawBuilder<boolean>) => ChangesRows,
): (of: P) => Change {
  const after = (db: QueryCreator<Schema>, of: P) => second(db, of, storage.dialect.firstChanged);
  const one = compileOnce(storage, first);
  const other = compileOnce(storage, after);
  const nested = compileOnce(storage, (db, of: P) =>
    db
      .with('first', (within) => returningOne(first(within, of)))
      .with('second', (within) => returningOne(after(within, of)))
      .selectFrom('first')
      .select((row) => row.fn.countAll<number>().as('changed')),
  );
  return (of) =>
    storage.dialect.nestsChanges
      ? { change: nested(of) as CompiledQuery<never> }
      : { change: one(of) as CompiledQuery<never>, second: other(of) };
}

/** What a part of a statement has to give where another part asks whether it changed a row. */
function returningOne(changes: ChangesRows) {
  return (changes as unknown as InsertQueryBuilder<Schema, keyof Schema, InsertResult>).returning(
    (row) => row.lit(1).as('changed'),
  );
}

/** Takes a row; returns its values as a select, for an insert that a condition may keep from being one. */
export function selectRow<R extends Record<string, unknown>>(db: QueryCreator<Schema>, row: R) {
  const names = Object.keys(row) as (keyof R & string)[];
  return db.selectNoFrom((value) => names.map((name) => value.val(row[name]).as(name)));
}

function compileOnce<P extends Parameters, R>(
  storage: Pick<Storage, 'compile'>,
  build: (db: QueryCreator<Schema>, of: P) => Compilable<R>,
): (of: P) => CompiledQuery<R> {
  let prepared: { compiled: CompiledQuery<R>; names: (string | undefined)[] } | undefined;
  return (of) => {
    if (prepared === undefined) {
      const marks = Object.fromEntries(Object.keys(of).map((name) => [name, Symbol(name)]));
      const compiled = storage.compile((db) => build(db, marks as unknown as P));
      const names = compiled.parameters.map((value) =>
        typeof value === 'symbol' ? value.description : undefined,
      );
      prepared = { compiled, names };
    }
    const { compiled, names } = prepared;
    const parameters = names.map((name, index) =>
      name === undefined ? compiled.parameters[index] : of[name],
    );
    // Property by property: a spread costs as much as the rest of this.
    const { sql, query, queryId } = compiled;
    return { sql, query, queryId, parameters };
  };
}

/** Takes a database and Kysely's class of that name; returns `Storage.compile`, whose builder runs nothing. */
export function compilerOver(db: Kysely<Schema>, Creator: typeof QueryCreator): Storage['compile'] {
  const executor = db.getExecutor().withConnectionProvider({
    provideConnection: async () => {
      throw new Error('A query is run by `read` and `write`, not where it is built.');
    },
  });
  const builder = new Creator<Schema>({ executor });
  return (build) => build(builder).compile();
}
