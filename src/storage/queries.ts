/**
 * Prepares queries and runs transactions. Kysely compiles a prepared query once, because compiling takes longer than
 * the statement takes in SQLite. Each parameter is a placeholder for a value:
 *
 *     const erase = prepareChange(storage, (db, of: { key: string }) =>
 *       db.deleteFrom('messages').where('key', '=', of.key));
 *     const changed = await storage.write(erase({ key }));
 *
 * The builder runs once, with a mark (a symbol) in place of each value. Kysely lists the marks among the parameters,
 * and each run replaces the marks with its values. So every call must name the same parameters.
 */
import type {
  Compilable,
  CompiledQuery,
  DeleteResult,
  InsertQueryBuilder,
  InsertResult,
  Kysely,
  RawBuilder,
  Transaction,
  UpdateResult,
} from 'kysely';
import { QueryCreator } from 'kysely';
import type { Change, OpenTransaction, Read, Selects, Storage } from './database.ts';
import type { Schema } from './schema.ts';

type Parameters = Record<string, string | number | null>;

/** Prepares a select for `storage.read`. */
export function prepareRead<P extends Parameters, R>(
  storage: Pick<Storage, 'compile'>,
  build: (db: Selects, of: P) => Compilable<R>,
): (of: P) => Read<R> {
  const compiled = compileOnce(storage, build);
  return (of) => ({ read: compiled(of) });
}

/** Prepares a statement that changes rows and returns no rows, for `storage.write` or `tx.change`. */
export function prepareChange<P extends Parameters>(
  storage: Pick<Storage, 'compile'>,
  build: (db: QueryCreator<Schema>, of: P) => ChangesRows,
): (of: P) => Change {
  const compiled = compileOnce(storage, build);
  return (of) => ({ change: compiled(of) as CompiledQuery<never> });
}

type ChangesRows = Compilable<InsertResult | UpdateResult | DeleteResult>;

/**
 * Prepares two statements for one transaction. The second statement has the condition `.where(firstChanged)`, so it
 * takes effect only if the first statement changed a row. On PostgreSQL the two statements are sent as one, which saves
 * the round trips of a transaction.
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

/** Returns the statement with a `returning` clause, which shows another part whether the statement changed a row. */
function returningOne(changes: ChangesRows) {
  return (changes as unknown as InsertQueryBuilder<Schema, keyof Schema, InsertResult>).returning((row) =>
    row.lit(1).as('changed'),
  );
}

/** Returns the values of a row as a select, for an insert with a condition. */
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
      const names = compiled.parameters.map((value) => (typeof value === 'symbol' ? value.description : undefined));
      prepared = { compiled, names };
    }
    const { compiled, names } = prepared;
    const parameters = names.map((name, index) => (name === undefined ? compiled.parameters[index] : of[name]));
    // A spread would take as long as the rest of this function.
    const { sql, query, queryId } = compiled;
    return { sql, query, queryId, parameters };
  };
}

/** Returns the function `Storage.compile`. Its query builder can't run a query. */
export function compilerOver(db: Kysely<Schema>): Storage['compile'] {
  const executor = db.getExecutor().withConnectionProvider({
    provideConnection: async () => {
      throw new Error('Only `read` and `write` run a query.');
    },
  });
  const builder = new QueryCreator<Schema>({ executor });
  return (build) => build(builder).compile();
}

/** Runs a function in a transaction. The function's prepared changes run with `runChange`. */
export function transact<T>(
  db: Kysely<Schema>,
  run: (tx: OpenTransaction) => Promise<T>,
  runChange: <C>(on: Transaction<Schema>, change: Change<C>) => Promise<C>,
): Promise<T> {
  return db.transaction().execute(async (on) => {
    const executor = on.getExecutor();
    let hasEnded = false;
    const tx: OpenTransaction = Object.assign(new QueryCreator<Schema>({ executor }), {
      getExecutor: () => executor,
      executeQuery: <R>(query: CompiledQuery<R>) => on.executeQuery(query),
      change: async <C>(change: Change<C>) => {
        // Kysely makes the same check, but SQLite's prepared changes bypass Kysely.
        if (hasEnded) throw new Error('The transaction has ended.');
        return await runChange(on, change);
      },
    });
    try {
      return await run(tx);
    } finally {
      hasEnded = true;
    }
  });
}

/** Returns reads and writes for a pool. Each transaction has its own connection. */
export function readAndWrite(db: Kysely<Schema>): Pick<Storage, 'compile' | 'read' | 'write' | 'writeBulk'> {
  const compile = compilerOver(db);
  return {
    compile,
    read: async (query) => (await db.executeQuery('read' in query ? query.read : compile(query))).rows,
    // The server itself shares commits between connections.
    write: (change) => {
      if (!('change' in change)) return transact(db, change, runChange);
      if (change.second === undefined) return runChange(db, change);
      return transact(db, (tx) => tx.change(change), runChange);
    },
    writeBulk: (change) => transact(db, change, runChange),
  };
}

/** Runs a change with Kysely and returns the number of changed rows. A nested statement returns this number as a result row. */
export async function runChange<T>(on: Kysely<Schema>, { change, second }: Change<T>): Promise<T> {
  const { rows, numAffectedRows } = await on.executeQuery(change);
  const count = Number(numAffectedRows ?? (rows[0] as { changed: number }).changed);
  if (count > 0 && second !== undefined) await on.executeQuery(second);
  return count as T;
}
