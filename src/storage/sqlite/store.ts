/** The store on `node:sqlite`: one connection, WAL, `synchronous=FULL`. */
import { statfsSync } from 'node:fs';
import { dirname } from 'node:path';
import { sql } from 'kysely';
import type { Clock } from '../../platform/clock.ts';
import {
  type Change,
  type Dialect,
  type OpenTransaction,
  patternOf,
  type Storage,
  StorageUnavailable,
} from '../database.ts';
import { migrate } from '../migrate.ts';
import { compilerOver, transact } from '../queries.ts';
import { transactInThread } from './bulk-write.ts';
import { driverOf, kyselyOver, SqliteConnection } from './connection.ts';
import { CHECKPOINT_PAGES, openFile, scrubLockMsOf, scrubSqlite } from './file.ts';
import { groupCommit } from './group-commit.ts';

/** Returns the dialect of SQLite with the functions of `file.ts`. */
export function sqliteDialect(): Dialect {
  return {
    // All processes that can open the file share the machine's monotonic clock.
    leaseClock: sql<number>`monotonic_ms()`,
    // A lease with a start in the future is from before a restart of the machine, which ended the holder of the lease.
    leaseExpired: sql<boolean>`(lease_started_ms + lease_ms <= monotonic_ms() or lease_started_ms > monotonic_ms())`,
    // SQLite has one writer at a time and no locks on rows.
    advisoryLock: async () => {},
    forUpdate: (query) => query,
    skipLocked: (query) => query,
    wallClock: sql<number>`wall_ms()`,
    constant: (value) => sql.lit(value),
    partialOn: (column, text) => sql<boolean>`likely(${sql.ref(column)} = ${sql.lit(text)})`,
    // `like` takes 0.6 times the time of `instr`.
    contains: (column, texts) => sql`${sql.ref(column)} like ${patternOf(texts)} escape '\\'`,
    withoutFields: sql<string>`json_set(event, '$.data.fields', json('{}'))`,
    nestsChanges: false,
    listedHasText: true,
    firstChanged: sql<boolean>`true`,
  };
}

/** Statement that writes without a change. To get the lock is not enough, because a read-only disk grants the lock. */
const WRITE_NOTHING = { sql: 'pragma user_version = 0', parameters: [] };

/**
 * Opens or creates the database file and brings its schema up to date.
 * @throws StorageUnavailable if the file can't be opened or is newer than this program
 */
export async function openSqlite(path: string, clock: Clock): Promise<Storage> {
  let checkpointPages = CHECKPOINT_PAGES;
  const connection = new SqliteConnection(() => openFile(path, clock, checkpointPages), clock);
  const set = (pragma: string) => connection.executeQuery({ sql: `pragma ${pragma}`, parameters: [] });
  // The temporary content of a migration that changes every row can be as large as the whole file.
  await set('temp_store=file');
  await migrate(kyselyOver(driverOf(connection)), 'sqlite');
  await set('temp_store=memory');
  const setCheckpointPages = async (pages: number) => {
    checkpointPages = pages;
    await set(`wal_autocheckpoint=${pages}`);
  };
  // A thread can fill the write-ahead log with the whole file. Only the thread may move the log into the file.
  const withoutCheckpoints = async <T>(run: () => Promise<T>) => {
    try {
      await setCheckpointPages(0);
      return await run();
    } finally {
      await setCheckpointPages(CHECKPOINT_PAGES);
    }
  };
  return connectSqlite({
    connection,
    clock,
    requireDiskSpace: diskSpaceCheck(path, clock),
    transactInThread: (run) => withoutCheckpoints(() => transactInThread(path, run)),
    scrub: () => withoutCheckpoints(() => scrubSqlite(path)),
    scrubLockMs: () => scrubLockMsOf(path),
  });
}

/** Returns the store over a connection to a database with a schema and the function `monotonic_ms`. */
export function connectSqlite({
  connection,
  clock,
  transactInThread,
  ...parts
}: Pick<Storage, 'requireDiskSpace' | 'scrub' | 'scrubLockMs'> & {
  connection: SqliteConnection;
  clock: Clock;
  /** Runs the transaction of a bulk write (default: on the connection). */
  transactInThread?: <T>(run: (tx: OpenTransaction) => Promise<T>) => Promise<T>;
}): Storage {
  const db = kyselyOver(driverOf(connection));
  const compile = compilerOver(db);
  // A prepared change bypasses Kysely, because Kysely takes longer than the statement.
  const changed = async <C>({ change, second }: Change<C>) => {
    const count = connection.change(change);
    if (count > 0 && second !== undefined) connection.change(second);
    return count as C;
  };
  const commit = groupCommit((run) => transact(db, run, (_, change) => changed(change)), clock);
  return {
    kind: 'sqlite',
    dialect: sqliteDialect(),
    compile,
    read: async (query) => {
      const compiled = 'read' in query ? query.read : compile(query);
      const rows = connection.readCommitted(compiled);
      return rows ?? (await db.executeQuery(compiled)).rows;
    },
    write: (change) => commit('change' in change ? (tx) => tx.change(change) : change),
    writeBulk: (change) => commit(change, transactInThread),
    ...parts,
    check: async () => {
      parts.requireDiskSpace();
      await commit(() => connection.executeQuery(WRITE_NOTHING));
    },
    close: async () => connection.end(),
  };
}

/** Free disk space that the service needs to settle all claims and to run a checkpoint. */
const FREE_MINIMUM_BYTES = 16 * 1024 * 1024;

/** Maximum age of the measured disk space. In this time the service writes far less than `FREE_MINIMUM_BYTES`. */
const MEASURE_EVERY_MS = 10;

/** Returns a function that throws `StorageUnavailable` if the disk has too little space for open executions. */
export function diskSpaceCheck(path: string, clock: Clock): () => void {
  let measuredAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = clock.monotonic();
    if (now - measuredAt < MEASURE_EVERY_MS) return;
    const { bavail, bsize } = statfsSync(dirname(path));
    if (bavail * bsize < FREE_MINIMUM_BYTES) throw new StorageUnavailable('The disk has less than 16 MB free.');
    measuredAt = now;
  };
}
