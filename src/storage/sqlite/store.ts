/**
 * SQLite on `node:sqlite`: one connection, WAL, `synchronous=FULL`. The file is opened, and its schema
 * looked at, when the store is opened.
 */
import type { Kysely } from 'kysely';
import type { Clock } from '../../clock.ts';
import { once } from '../../once.ts';
import type { Change, OpenTransaction, Storage } from '../database.ts';
import { areMissing, migrate } from '../migrate.ts';
import { compilerOver } from '../prepare-query.ts';
import type { Schema } from '../schema.ts';
import { SqliteConnection } from './connection.ts';
import { sqliteDialect } from './dialect.ts';
import { openFile, roomRequirer } from './file.ts';
import { groupCommit } from './group-commit.ts';
import { driverOf, kysely, kyselyOver } from './kysely.ts';
import { scrubSqlite } from './scrub.ts';

/** A commit that really writes, and changes nothing: a read-only disk still grants the lock. */
const WRITE_NOTHING = { sql: 'pragma user_version = 0', parameters: [] };

/**
 * Opens (or creates, mode 0600) the database file and brings its schema up to date.
 * Throws `StorageUnavailable` where the file can't be opened or is newer than this program.
 */
export async function openSqlite(path: string, clock: Clock): Promise<Storage> {
  const connection = new SqliteConnection(() => openFile(path, clock), clock);
  if (areMissing(await connection.migrations())) {
    await migrate(kyselyOver(driverOf(connection)), 'sqlite');
  }
  return connectSqlite({ connection, clock, requireRoom: roomRequirer(path, clock) });
}

/** The store over a connection to a database that has its schema and a function `monotonic_ms`. */
export function connectSqlite(parts: {
  connection: SqliteConnection;
  clock: Clock;
  requireRoom: () => void;
}): Storage {
  const { connection, clock, requireRoom } = parts;
  const built = once(() => {
    const { QueryCreator } = kysely();
    const db = kyselyOver(driverOf(connection));
    return {
      db,
      compile: compilerOver(db, QueryCreator),
      commit: groupCommit((run) => transact(db, connection, run), clock),
      dialect: sqliteDialect(),
    };
  });
  return {
    kind: 'sqlite',
    get dialect() {
      return built().dialect;
    },
    compile: (build) => built().compile(build),
    read: async (query) => {
      const compiled = 'read' in query ? query.read : built().compile(query);
      const rows = connection.readCommitted(compiled);
      return rows ?? (await built().db.executeQuery(compiled)).rows;
    },
    write: (change) => built().commit('change' in change ? (tx) => tx.change(change) : change),
    scrub: async () => scrubSqlite(built().db),
    requireRoom,
    check: async () => {
      requireRoom();
      await built().commit(() => connection.executeQuery(WRITE_NOTHING));
    },
    close: async () => connection.end(),
  };
}

/** A prepared change goes straight to the connection: the way through Kysely costs more. */
function transact<T>(
  db: Kysely<Schema>,
  connection: SqliteConnection,
  run: (tx: OpenTransaction) => Promise<T>,
): Promise<T> {
  return db.transaction().execute(async (transaction) => {
    let ended = false;
    const change = async <C>({ change: query, second }: Change<C>) => {
      // Kysely refuses this by itself, but is not asked: the next transaction is on the same connection.
      if (ended) throw new Error('The transaction has ended.');
      const changed = connection.change(query);
      if (changed > 0 && second !== undefined) connection.change(second);
      return changed as C;
    };
    try {
      return await run(Object.assign(transaction, { change }));
    } finally {
      ended = true;
    }
  });
}
