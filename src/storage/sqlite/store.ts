/**
 * SQLite through Kysely on `node:sqlite`: one connection, WAL, `synchronous=FULL`.
 * The file is opened, and its schema looked at, when it is asked for; Kysely is loaded for the first
 * query that is built, for its 250 files are a fifth of a start.
 */
import type { DatabaseConnection, Driver, Kysely } from 'kysely';
import type { Clock } from '../../clock.ts';
import { once, require } from '../../once.ts';
import { type Storage, StorageUnavailable } from '../database.ts';
import { areMissing, migrate } from '../migrate.ts';
import type { Schema } from '../schema.ts';
import { SqliteConnection } from './connection.ts';
import { openFile, roomRequirer } from './file.ts';
import { groupCommit } from './group-commit.ts';

const kysely = once((): typeof import('kysely') => {
  try {
    return require('kysely');
  } catch (error) {
    throw new StorageUnavailable('Kysely could not be loaded.', { cause: error });
  }
});

/**
 * Opens (or creates, mode 0600) the database file and brings its schema up to date.
 * Throws `StorageUnavailable` where the file can't be opened or is newer than this program.
 */
export async function openSqlite(path: string, clock: Clock): Promise<Storage> {
  const connection = new SqliteConnection(() => openFile(path, clock), clock);
  const storage = connectSqlite({ connection, clock, requireRoom: roomRequirer(path, clock) });
  if (areMissing(await connection.migrations())) await migrate(storage.db, 'sqlite');
  return storage;
}

/** The store over a connection to a database that has its schema and a function `monotonic_ms`. */
export function connectSqlite(parts: {
  connection: SqliteConnection;
  clock: Clock;
  requireRoom: () => void;
}): Storage {
  const { connection, clock, requireRoom } = parts;
  const made = once(() => {
    const { sql } = kysely();
    const db = kyselyOver(new SqliteDriver(connection));
    return {
      db,
      // The machine's monotonic clock: shared by all processes that can open the file.
      leaseClock: sql<number>`monotonic_ms()`,
      // A start later than now was counted before the machine restarted: its holder is gone.
      leaseHasRunOut: sql<boolean>`(lease_started_ms + lease_ms <= monotonic_ms() or lease_started_ms > monotonic_ms())`,
      commit: groupCommit(db, clock),
      // A commit that really writes, and changes nothing: a read-only disk still grants the lock.
      writeNothing: sql`pragma user_version = 0`,
    };
  });
  return {
    kind: 'sqlite',
    get db() {
      return made().db;
    },
    get leaseClock() {
      return made().leaseClock;
    },
    get leaseHasRunOut() {
      return made().leaseHasRunOut;
    },
    read: async (query) =>
      connection.readCommitted(query) ?? (await made().db.executeQuery(query)).rows,
    // There is one connection, on which the write's transaction is open: the way through Kysely costs more.
    change: async (_within, query) => (await connection.executeQuery(query)).numAffectedRows === 1n,
    write: (run) => made().commit(run),
    transact: (run) => made().commit(run),
    requireRoom,
    check: async () => {
      requireRoom();
      const { commit, writeNothing } = made();
      await commit((within) => writeNothing.execute(within));
    },
    close: async () => connection.end(),
  };
}

/** Kysely in SQLite's dialect, over whatever drives its statements. */
export function kyselyOver(driver: Driver): Kysely<Schema> {
  const { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } = kysely();
  /** Kysely's own does not say so, but SQLite changes its schema inside transactions as well. */
  class Adapter extends SqliteAdapter {
    override get supportsTransactionalDdl(): boolean {
      return true;
    }
  }
  return new Kysely<Schema>({
    dialect: {
      createAdapter: () => new Adapter(),
      createDriver: () => driver,
      createIntrospector: (of) => new SqliteIntrospector(of),
      createQueryCompiler: () => new SqliteQueryCompiler(),
    },
  });
}

class SqliteDriver implements Driver {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  async init(): Promise<void> {
    await this.#connection.executeQuery({ sql: 'select 1', parameters: [] });
  }

  async acquireConnection(): Promise<DatabaseConnection> {
    return this.#connection;
  }

  async beginTransaction(): Promise<void> {
    await this.#connection.begin();
  }

  async commitTransaction(): Promise<void> {
    await this.#connection.commit();
  }

  async rollbackTransaction(): Promise<void> {
    this.#connection.rollback();
  }

  async releaseConnection(): Promise<void> {}

  async destroy(): Promise<void> {
    this.#connection.end();
  }
}
