/** The store as a part: one way to read, one way to write, and how it says that it is away. */
import type {
  Compilable,
  CompiledQuery,
  QueryCreator,
  RawBuilder,
  SelectQueryBuilder,
  Transaction,
} from 'kysely';
import type { Schema } from './schema.ts';

/** Builds selects. */
export type Selects = Pick<QueryCreator<Schema>, 'selectFrom' | 'selectNoFrom'>;

/** A select that is ready to run: `prepareRead` makes it. */
export type Read<R> = { readonly read: CompiledQuery<R> };

/**
 * What is ready to change rows: `prepareChange` makes it of one statement, `prepareBoth` of two. Run, it gives
 * the number of rows that the first changed; `second` is run where that is not 0.
 */
export type Change<T = number> = {
  readonly change: CompiledQuery<T>;
  readonly second?: CompiledQuery;
};

/** A transaction that is open: all that changes rows is a member of it. */
export type OpenTransaction = Transaction<Schema> & { change<T>(change: Change<T>): Promise<T> };

/** What the two databases say differently, as pieces of a query. */
export type Dialect = {
  /** Milliseconds on the clock that judges leases: never an application's wall clock (contract §4). */
  leaseClock: RawBuilder<number>;
  /** Of a row with a lease: whether that has run out by that clock. */
  leaseHasRunOut: RawBuilder<boolean>;
  /** Milliseconds since 1970 on the database's wall clock: schedules and retention go by it. */
  wallClock: RawBuilder<number>;
  /**
   * A text or a number that is part of the statement: PostgreSQL chooses a partial index for no parameter,
   * and SQLite, which does, prepares the statement again for each value of it, and for each of a `limit`.
   */
  constant<T extends string | number>(value: T): RawBuilder<T>;
  /**
   * Whether a column is that text, where a partial index is over these rows: SQLite would begin at another index that
   * has the column, and sort what it finds.
   */
  partialOn(column: string, text: string): RawBuilder<boolean>;
  /** Whether the text of a column begins like that; by an index over it. */
  beginsWith(column: string, text: string): RawBuilder<boolean>;
  /** Whether the body of an event has a text of ASCII in its `fields`, or behind them, in any case. */
  mentions(text: string): RawBuilder<boolean>;
  /** The body of an event with its `fields` taken out. */
  withoutFields: RawBuilder<string>;
  /** Whether one statement can hold two that change rows (`prepareBoth`). */
  nestsChanges: boolean;
  /** In the second of those two: whether the first, which is called `first`, has changed a row. */
  firstChanged: RawBuilder<boolean>;
  /** Selected in a transaction: others that select the same wait for its end, where several can change rows at once. */
  heldUntilCommit(key: string): RawBuilder<unknown>;
  /** Waits for whoever is changing these rows, and holds them until the commit, where several can change rows at once. */
  forUpdate<T extends keyof Schema, R>(
    query: SelectQueryBuilder<Schema, T, R>,
  ): SelectQueryBuilder<Schema, T, R>;
  /** Passes over rows that another instance is changing, where several can change rows at once. */
  skipLocked<T extends keyof Schema, R>(
    query: SelectQueryBuilder<Schema, T, R>,
  ): SelectQueryBuilder<Schema, T, R>;
};

export type Storage = {
  kind: 'sqlite' | 'postgres';
  /** Asked for where a query is built, never where a room is opened: on SQLite it loads the query builder. */
  dialect: Dialect;
  /** Builds a query in this database's SQL. A builder in it runs nothing: that is for `read` and `write`. */
  compile<R>(build: (db: QueryCreator<Schema>) => Compilable<R>): CompiledQuery<R>;
  /**
   * The rows of a select, of what is committed: `read((db) => db.selectFrom('inbox').selectAll())`, or
   * of one that is prepared. It waits for no writer of another process. Inside `write` it would wait
   * for that write's own end: what a transaction reads, it reads through `tx`.
   */
  read<R>(query: Read<R> | ((db: Selects) => Compilable<R>)): Promise<R[]>;
  /**
   * The only way to change rows, durable when it resolves. It takes what stands or falls together:
   * `write(async (tx) => …)`; one statement that is prepared is a transaction by itself, and goes to
   * PostgreSQL without the two round trips of BEGIN and COMMIT. On SQLite writes that come together
   * share a commit. After a rollback a function may run again, so it does nothing but its statements.
   */
  write<T>(change: Change<T> | ((tx: OpenTransaction) => Promise<T>)): Promise<T>;
  /** Takes out of the database's own files what deleted rows left behind in them. */
  scrub(): Promise<Scrubbed>;
  /** Throws `StorageUnavailable` while the disk has no more room than open executions may need. */
  requireRoom(): void;
  /** Resolves when something could be written; throws `StorageUnavailable` when it can't. */
  check(): Promise<void>;
  close(): Promise<void>;
};

export type Scrubbed =
  /** SQLite: nothing of a deleted row is in the database or its write-ahead log. */
  | 'clean'
  /** SQLite: a reader in another process keeps the write-ahead log from being emptied. */
  | 'held'
  /** SQLite: the file could not be rewritten, for want of disk space or of a lock. */
  | 'failed'
  /** PostgreSQL: the dead rows were vacuumed away. */
  | 'vacuumed'
  /** PostgreSQL: a transaction that began before still sees the dead rows, which stay as long. */
  | 'seen'
  /** PostgreSQL: it did not end in time, or this role may not; the server's own autovacuum comes to it. */
  | 'unvacuumed';

/** The store can't be reached or can't keep what it is given: 503 wherever it is first needed. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable';
}
