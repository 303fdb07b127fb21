/** The interface of the store: reads, writes and its unavailability. */
import type { Compilable, CompiledQuery, QueryCreator, RawBuilder, SelectQueryBuilder, Transaction } from 'kysely';
import type { Schema } from './schema.ts';

/** Builds selects. */
export type Selects = Pick<QueryCreator<Schema>, 'selectFrom' | 'selectNoFrom'>;

/** A prepared select (`prepareRead`). */
export type Read<R> = { readonly read: CompiledQuery<R> };

/**
 * One or two prepared statements that change rows (`prepareChange`, `prepareBoth`). `write` returns the number of rows
 * that `change` changed. If this number is 0, `second` does not run.
 */
export type Change<T = number> = {
  readonly change: CompiledQuery<T>;
  readonly second?: CompiledQuery;
};

/** An open transaction. A function that `write` runs makes all its reads and changes through this object. */
export type OpenTransaction = QueryCreator<Schema> &
  Pick<Transaction<Schema>, 'executeQuery' | 'getExecutor'> & {
    change<T>(change: Change<T>): Promise<T>;
  };

/** Differences between SQLite and PostgreSQL, as parts of a query. */
export type Dialect = {
  /** Milliseconds on the lease clock, which is never the wall clock of a process (reference §5.11). */
  leaseClock: RawBuilder<number>;
  /** Condition: the lease of the row has expired by `leaseClock`. */
  leaseExpired: RawBuilder<boolean>;
  /** Milliseconds since 1970 on the database's wall clock, for schedules and retention. */
  wallClock: RawBuilder<number>;
  /**
   * A constant in the statement's text. For a parameter, PostgreSQL uses no partial index. SQLite uses the index, but
   * compiles the statement again for each value of the parameter, and for each `limit`.
   */
  constant<T extends string | number>(value: T): RawBuilder<T>;
  /**
   * Condition: the column equals the text in the definition of a partial index. With a plain `=`, SQLite would choose
   * another index of the column, and sort.
   */
  partialOn(column: string, text: string): RawBuilder<boolean>;
  /**
   * Condition: the column contains the texts in this order. It is for a part of an `or`, where PostgreSQL evaluates
   * conditions as they are written.
   */
  contains(column: string, texts: readonly string[]): RawBuilder<boolean>;
  /** Expression for the body of the row's event with empty `fields`. */
  withoutFields: RawBuilder<string>;
  /** True if the database accepts one statement that contains two statements that change rows (`prepareBoth`). */
  nestsChanges: boolean;
  /** True if the index `submissions_listed` has the text that searches compare. */
  listedHasText: boolean;
  /** Condition in the second of two nested statements: the first statement, named `first`, has changed a row. */
  firstChanged: RawBuilder<boolean>;
  /** Locks a key until the commit. Does nothing on SQLite, which has one writer at a time. */
  advisoryLock(tx: OpenTransaction, key: string): Promise<unknown>;
  /** Locks the rows of the query until the commit, if the database has several writers at a time. */
  forUpdate<T extends keyof Schema, R>(query: SelectQueryBuilder<Schema, T, R>): SelectQueryBuilder<Schema, T, R>;
  /** Locks the rows of the query as `forUpdate` does, but omits the rows that another instance has locked. */
  skipLocked<T extends keyof Schema, R>(query: SelectQueryBuilder<Schema, T, R>): SelectQueryBuilder<Schema, T, R>;
};

export type Storage = {
  kind: 'sqlite' | 'postgres';
  dialect: Dialect;
  /** Compiles a query to SQL of this database. The builder runs nothing. */
  compile<R>(build: (db: QueryCreator<Schema>) => Compilable<R>): CompiledQuery<R>;
  /**
   * Returns the committed rows of a select: `read((db) => db.selectFrom('messages').selectAll())`, or of a prepared
   * select. A read waits for no writer of another process. A transaction reads through its `tx`, because a `read`
   * inside of `write` would wait for the end of that write.
   */
  read<R>(query: Read<R> | ((db: Selects) => Compilable<R>)): Promise<R[]>;
  /**
   * Changes rows. The changes are durable once the promise resolves. The argument is a transaction `async (tx) => …`,
   * or a prepared change. A prepared statement is a transaction by itself and needs no BEGIN and COMMIT on PostgreSQL.
   * On SQLite, writes that arrive together share a commit. The function can run again after a rollback, so the
   * function must do nothing but run statements.
   */
  write<T>(change: Change<T> | ((tx: OpenTransaction) => Promise<T>)): Promise<T>;
  /**
   * Changes many rows in one transaction, as `write` does, without blocking the event loop. On SQLite other writes wait
   * for its end, and reads do not.
   */
  writeBulk<T>(change: (tx: OpenTransaction) => Promise<T>): Promise<T>;
  /** Removes the remains of deleted rows from the database's files, without blocking the event loop. */
  scrub(): Promise<Scrubbed>;
  /** Returns the expected time for which `scrub` blocks writers, in milliseconds (0 on PostgreSQL). */
  scrubLockMs(): number;
  /** Throws `StorageUnavailable` if the disk has too little space for open executions. */
  requireDiskSpace(): void;
  /** Throws `StorageUnavailable` if the store can't write. */
  check(): Promise<void>;
  close(): Promise<void>;
};

/** A read-only store. */
export type ReadOnly = Pick<Storage, 'kind' | 'dialect' | 'compile' | 'read'>;

export type Scrubbed =
  /** SQLite: the database and its write-ahead log contain nothing of deleted rows. */
  | 'clean'
  /** SQLite: a reader in another process prevents the log from being emptied. */
  | 'held'
  /** SQLite: the rewrite failed, for lack of disk space or of a lock. */
  | 'failed'
  /** PostgreSQL: VACUUM removed the dead rows. */
  | 'vacuumed'
  /** PostgreSQL: an older transaction still sees the dead rows. */
  | 'seen'
  /** PostgreSQL: VACUUM did not end in time, or the role lacks the right. Autovacuum removes the rows later. */
  | 'unvacuumed';

/** The store can't be reached or can't write. The answer is a 503. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable';
}

/** Returns the pattern of `like` for texts in this order. A backslash escapes the wildcards `%` and `_`. */
export function patternOf(texts: readonly string[]): string {
  return `%${texts.map((text) => text.replace(/[\\%_]/g, '\\$&')).join('%')}%`;
}
