/**
 * One connection to an SQLite database, as Kysely drives it.
 *
 * A lock of another process is waited for without blocking the event loop. After an error whose
 * effect is unknown (I/O, disk full) the connection is given up and a new one is opened, so that
 * what the next statement reads is what is on the disk (contract §4).
 */
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite';
import type { CompiledQuery, DatabaseConnection, QueryResult } from 'kysely';
import type { Clock } from '../../clock.ts';
import { StorageUnavailable } from '../database.ts';

/** How long a lock of another process is waited for before the store counts as away. */
const BUSY_TIMEOUT_MS = 2_000;
const BUSY_RETRY_MS = 5;

const SQLITE_BUSY = 5;
const SQLITE_CONSTRAINT = 19;
const SQLITE_ERROR = 1;

/** What is used of a database that is open. */
export type SqliteDatabase = Pick<DatabaseSync, 'prepare' | 'exec' | 'close' | 'isTransaction'>;

type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>;

type Prepared = { statement: StatementSync; returnsRows: boolean };

export class SqliteConnection implements DatabaseConnection {
  readonly #open: () => SqliteDatabase;
  readonly #clock: Clock;
  #database: SqliteDatabase | undefined;
  #statements = new Map<string, Prepared>();
  #ended = false;
  /** `lost`: the connection went away inside a transaction; nothing runs until its rollback. */
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
        if (!mayWait || this.#clock.monotonic() >= deadline) throw this.#judge(error);
        await this.#clock.sleep(BUSY_RETRY_MS);
      }
    }
  }

  /**
   * The number of rows that a statement changes inside the transaction that is open: at once, for its lock is held.
   * Throws `StorageUnavailable`.
   */
  change(query: Statement): number {
    try {
      const { statement } = this.#prepare(query.sql);
      return Number(statement.run(...valuesOf(query)).changes);
    } catch (error) {
      throw this.#judge(error);
    }
  }

  /**
   * The rows of a query that only reads, at once, even while a write waits for another process's lock.
   * Undefined where the read has to wait: for such a lock itself, or for the end of a transaction on
   * this connection, because it would see what that has written and not committed.
   */
  readCommitted<R>(query: CompiledQuery<R>): R[] | undefined {
    // `begin` notes that a transaction is open only after its `await`; until then SQLite alone knows.
    if (this.#transaction !== 'none' || this.#database?.isTransaction) return undefined;
    try {
      return this.#run<R>(query).rows;
    } catch (error) {
      if (codeOf(error) === SQLITE_BUSY) return undefined;
      throw this.#judge(error);
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for the method; no query of ours streams.
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
        this.#giveUp();
      }
    }
  }

  /** The names of the migrations that the file has had, read by who could write. */
  async migrations(): Promise<string[]> {
    const names = async (sql: string) => {
      const { rows } = await this.executeQuery<{ name: string }>({ sql, parameters: [] });
      return rows.map(({ name }) => name);
    };
    await this.begin();
    try {
      const tables = await names(`select name from sqlite_schema where name = 'kysely_migration'`);
      const applied = tables.length === 0 ? [] : await names('select name from kysely_migration');
      await this.commit();
      return applied;
    } catch (error) {
      this.rollback();
      throw error;
    }
  }

  end(): void {
    this.#ended = true;
    this.#giveUp();
  }

  #giveUp(): void {
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

  /** Our own mistakes stay what they are; everything else means that the store is away. */
  #judge(error: unknown): unknown {
    const code = codeOf(error);
    if (code === undefined || code === SQLITE_ERROR || code === SQLITE_CONSTRAINT) return error;
    // Whether the statement took effect is unknown, and SQLite may have rolled back by itself; a lock
    // that was waited for in vain may be our own, left behind by an unlocking that failed.
    if (this.#transaction === 'open') this.#transaction = 'lost';
    this.#giveUp();
    return new StorageUnavailable('SQLite could not run a statement.', { cause: error });
  }
}

/** Kysely promises no type of what it lists; only texts, numbers and nulls are put into our queries. */
function valuesOf({ parameters }: Statement): readonly SQLInputValue[] {
  return parameters as readonly SQLInputValue[];
}

/** The primary result code of an SQLite error; undefined for any other error. */
function codeOf(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}
