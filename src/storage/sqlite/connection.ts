/**
 * One connection to an SQLite database for Kysely. It waits for locks of other processes without blocking the event
 * loop. After an error with an unknown effect (I/O, full disk) it closes the database and opens it again. So the next
 * statement reads the data on the disk (reference §5.12).
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import {
  type CompiledQuery,
  type DatabaseConnection,
  type Driver,
  Kysely,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely';
import type { Clock } from '../../platform/clock.ts';
import { StorageUnavailable } from '../database.ts';
import type { Schema } from '../schema.ts';

/** Limit for the wait for a lock of another process. After a longer wait, the store counts as unavailable. */
const BUSY_TIMEOUT_MS = 2_000;
const BUSY_RETRY_MS = 5;

const SQLITE_BUSY = 5;
const SQLITE_CONSTRAINT = 19;
const SQLITE_ERROR = 1;

/** The part of an open database that a connection uses. */
export type SqliteDatabase = Pick<DatabaseSync, 'prepare' | 'exec' | 'close' | 'isTransaction'>;

type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>;

type Prepared = { statement: StatementSync; returnsRows: boolean };

export class SqliteConnection implements DatabaseConnection {
  readonly #open: () => SqliteDatabase;
  readonly #clock: Clock;
  #database: SqliteDatabase | undefined;
  #statements = new Map<string, Prepared>();
  #ended = false;
  /** `lost`: the connection was closed inside a transaction. Nothing runs until its rollback. */
  #transaction: 'none' | 'open' | 'lost' = 'none';

  constructor(open: () => SqliteDatabase, clock: Clock) {
    this.#open = open;
    this.#clock = clock;
  }

  async executeQuery<R>(query: Statement): Promise<QueryResult<R>> {
    const deadline = this.#clock.monotonic() + BUSY_TIMEOUT_MS;
    for (;;) {
      try {
        return this.#run<R>(query);
      } catch (error) {
        const mayWait = codeOf(error) === SQLITE_BUSY && this.#transaction === 'none';
        if (!mayWait || this.#clock.monotonic() >= deadline) throw this.#toStorageError(error);
        await this.#clock.sleep(BUSY_RETRY_MS);
      }
    }
  }

  /**
   * Runs a statement inside the open transaction, which holds the lock. Returns the number of changed rows.
   * @throws StorageUnavailable
   */
  change(query: Statement): number {
    try {
      const { statement } = this.#prepare(query.sql);
      return Number(statement.run(...valuesOf(query)).changes);
    } catch (error) {
      throw this.#toStorageError(error);
    }
  }

  /**
   * Returns the rows of a select at once, even while a write waits for another process's lock. Returns undefined if the
   * read must wait for such a lock, or for a transaction on this connection, whose uncommitted rows it would see.
   */
  readCommitted<R>(query: CompiledQuery<R>): R[] | undefined {
    // `begin` sets `#transaction` only after its `await`. Until then only SQLite knows about the transaction.
    if (this.#transaction !== 'none' || this.#database?.isTransaction) return undefined;
    try {
      return this.#run<R>(query).rows;
    } catch (error) {
      if (codeOf(error) === SQLITE_BUSY) return undefined;
      throw this.#toStorageError(error);
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely requires the method, but no query streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not used.');
  }

  async begin(): Promise<void> {
    await this.executeQuery({ sql: 'begin immediate', parameters: [] });
    this.#transaction = 'open';
  }

  async commit(): Promise<void> {
    await this.executeQuery({ sql: 'commit', parameters: [] });
    this.#transaction = 'none';
  }

  rollback(): void {
    this.#transaction = 'none';
    if (this.#database?.isTransaction) {
      try {
        this.#database.exec('rollback');
      } catch {
        this.#disconnect();
      }
    }
  }

  end(): void {
    this.#ended = true;
    this.#disconnect();
  }

  #disconnect(): void {
    this.#statements.clear();
    this.#database?.close();
    this.#database = undefined;
  }

  #run<R>(query: Statement): QueryResult<R> {
    const { statement, returnsRows } = this.#prepare(query.sql);
    if (returnsRows) return { rows: statement.all(...valuesOf(query)) as R[] };
    const { changes } = statement.run(...valuesOf(query));
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  #prepare(sql: string): Prepared {
    if (this.#ended) throw new StorageUnavailable('The store is closed.');
    if (this.#transaction === 'lost') throw new StorageUnavailable('The transaction was lost.');
    this.#database ??= this.#open();
    let prepared = this.#statements.get(sql);
    if (prepared === undefined) {
      const statement = this.#database.prepare(sql);
      prepared = { statement, returnsRows: statement.columns().length > 0 };
      this.#statements.set(sql, prepared);
    }
    return prepared;
  }

  /** Returns an error of the statement itself unchanged, and any other error as `StorageUnavailable`. */
  #toStorageError(error: unknown): unknown {
    if (codeOf(error) === undefined || isStatementError(error)) return error;
    // The effect of the statement is unknown, and SQLite may have rolled back. A lock that did not end may be our own,
    // after an unlock that failed.
    if (this.#transaction === 'open') this.#transaction = 'lost';
    this.#disconnect();
    return new StorageUnavailable('SQLite could not run a statement.', { cause: error });
  }
}

/** Kysely does not type parameters. Our queries only have texts, numbers and nulls. */
function valuesOf({ parameters }: Statement): readonly SQLInputValue[] {
  return parameters as readonly SQLInputValue[];
}

/** Returns true for an error of the statement itself. The effect of a statement with another error is unknown. */
export function isStatementError(error: unknown): boolean {
  const code = codeOf(error);
  return code === SQLITE_ERROR || code === SQLITE_CONSTRAINT;
}

/** Returns the primary result code of an SQLite error, or undefined for any other error. */
function codeOf(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}

class Adapter extends SqliteAdapter {
  /** Makes Kysely use the connection for one transaction or statement at a time, so that transactions never mix. */
  override get supportsMultipleConnections(): boolean {
    return false;
  }
  /** SQLite can change its schema inside a transaction, although Kysely's adapter returns false. */
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

/** Returns Kysely with SQLite's dialect over a driver. */
export function kyselyOver(driver: Driver): Kysely<Schema> {
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new Adapter(),
      createDriver: () => driver,
      createIntrospector: (of) => new SqliteIntrospector(of),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

/** Returns a driver of one connection. The adapter prevents parallel use. */
export function driverOf(connection: SqliteConnection): Driver {
  return {
    init: async () => {},
    acquireConnection: async (): Promise<DatabaseConnection> => connection,
    beginTransaction: () => connection.begin(),
    commitTransaction: () => connection.commit(),
    rollbackTransaction: async () => connection.rollback(),
    releaseConnection: async () => {},
    destroy: async () => connection.end(),
  };
}
