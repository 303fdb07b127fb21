/**
 * SQLite through Kysely on `node:sqlite`: one connection, WAL, `synchronous=FULL`.
 *
 * A lock of another process is waited for without blocking the event loop. After an error whose
 * effect is unknown (I/O, disk full) the connection is given up and a new one is opened, so that
 * what the next statement reads is what is on the disk (contract §4).
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
  sql,
} from 'kysely';
import type { Clock } from '../clock.ts';
import { type Storage, StorageUnavailable } from './database.ts';
import { groupCommit } from './group-commit.ts';
import { migrate } from './migrate.ts';
import type { Schema } from './schema.ts';
import { openFile, requireRoom } from './sqlite-file.ts';

/** How long a lock of another process is waited for before the store counts as away. */
const BUSY_TIMEOUT_MS = 2_000;
const BUSY_RETRY_MS = 5;

const SQLITE_BUSY = 5;
const SQLITE_CONSTRAINT = 19;
const SQLITE_ERROR = 1;

/** What is used of a database that is open. */
export type SqliteDatabase = Pick<DatabaseSync, 'prepare' | 'exec' | 'close' | 'isTransaction'>;

/**
 * Opens (or creates, mode 0600) the database file and brings its schema up to date.
 * Throws `StorageUnavailable` where the file can't be opened or is newer than this program.
 */
export async function openSqlite(path: string, clock: Clock): Promise<Storage> {
  const storage = connectSqlite({
    clock,
    open: () => openFile(path, clock),
    requireRoom: () => requireRoom(path),
  });
  await migrate(storage.db);
  return storage;
}

/**
 * The store over whatever opens its database, which has its schema and a function `monotonic_ms`;
 * it is opened again after each error whose effect is unknown.
 */
export function connectSqlite(parts: {
  clock: Clock;
  open: () => SqliteDatabase;
  requireRoom: () => void;
}): Storage {
  const { clock, open, requireRoom } = parts;
  const db = kyselyOver(new SqliteDriver(open, clock));
  const commit = groupCommit(db, clock);
  return {
    kind: 'sqlite',
    db,
    // The machine's monotonic clock: shared by all processes that can open the file.
    leaseClock: sql<number>`monotonic_ms()`,
    // A start later than now was counted before the machine restarted: its holder is gone.
    leaseHasRunOut: sql<boolean>`(lease_started_ms + lease_ms <= monotonic_ms() or lease_started_ms > monotonic_ms())`,
    write: commit,
    transact: commit,
    requireRoom,
    check: async () => {
      requireRoom();
      // A commit that really writes, and changes nothing: a read-only disk still grants the lock.
      await commit((within) => sql`pragma user_version = 0`.execute(within));
    },
    close: () => db.destroy(),
  };
}

/** Kysely in SQLite's dialect, over whatever drives its statements. */
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

/** Kysely's own does not say so, but SQLite changes its schema inside transactions as well. */
class Adapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true;
  }
}

class SqliteDriver implements Driver {
  #connection: SqliteConnection;

  constructor(open: () => SqliteDatabase, clock: Clock) {
    this.#connection = new SqliteConnection(open, clock);
  }

  async init(): Promise<void> {
    await this.#connection.executeQuery({ sql: 'select 1', parameters: [] });
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    await this.#connection.executeQuery({ sql: 'begin immediate', parameters: [] });
    this.#connection.transaction = 'open';
  }

  async commitTransaction(): Promise<void> {
    await this.#connection.commit();
  }

  async rollbackTransaction(): Promise<void> {
    this.#connection.rollback();
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#connection.close();
  }
}

type Statement = Pick<CompiledQuery, 'sql' | 'parameters'>;

type Prepared = { statement: StatementSync; returnsRows: boolean };

class SqliteConnection implements DatabaseConnection {
  readonly #open: () => SqliteDatabase;
  readonly #clock: Clock;
  #database: SqliteDatabase | undefined;
  #statements = new Map<string, Prepared>();
  /** `lost`: the connection went away inside a transaction; nothing runs until its rollback. */
  transaction: 'none' | 'open' | 'lost' = 'none';

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
        const mayWait = codeOf(error) === SQLITE_BUSY && this.transaction === 'none';
        if (!mayWait || this.#clock.monotonic() >= deadline) throw this.#judge(error);
        await this.#clock.sleep(BUSY_RETRY_MS);
      }
    }
  }

  // biome-ignore lint/correctness/useYield: Kysely asks for the method; no query of ours streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not used.');
  }

  async commit(): Promise<void> {
    await this.executeQuery({ sql: 'commit', parameters: [] });
    this.transaction = 'none';
  }

  rollback(): void {
    this.transaction = 'none';
    if (this.#database?.isTransaction) {
      try {
        this.#database.exec('rollback');
      } catch {
        this.close();
      }
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database?.close();
    this.#database = undefined;
  }

  #run<R>(query: Statement): QueryResult<R> {
    if (this.transaction === 'lost') throw new StorageUnavailable('The transaction was lost.');
    this.#database ??= this.#open();
    let prepared = this.#statements.get(query.sql);
    if (prepared === undefined) {
      const statement = this.#database.prepare(query.sql);
      prepared = { statement, returnsRows: statement.columns().length > 0 };
      this.#statements.set(query.sql, prepared);
    }
    const { statement, returnsRows } = prepared;
    const parameters = query.parameters as SQLInputValue[];
    if (returnsRows) return { rows: statement.all(...parameters) as R[] };
    const { changes } = statement.run(...parameters);
    return { rows: [], numAffectedRows: BigInt(changes) };
  }

  /** Our own mistakes stay what they are; everything else means that the store is away. */
  #judge(error: unknown): unknown {
    const code = codeOf(error);
    if (code === undefined || code === SQLITE_ERROR || code === SQLITE_CONSTRAINT) return error;
    // Whether the statement took effect is unknown, and SQLite may have rolled back by itself; a lock
    // that was waited for in vain may be our own, left behind by an unlocking that failed.
    if (this.transaction === 'open') this.transaction = 'lost';
    this.close();
    return new StorageUnavailable('SQLite could not run a statement.', { cause: error });
  }
}

/** The primary result code of an SQLite error; undefined for any other error. */
function codeOf(error: unknown): number | undefined {
  const code = (error as { errcode?: unknown }).errcode;
  return typeof code === 'number' ? code & 0xff : undefined;
}
