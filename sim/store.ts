/**
 * The store of a run: one SQLite database in memory that outlives every process of the run. Each process
 * has connections of its own, which may fail, be lost or lose an answer before and after every
 * statement; when a process dies, what it had not committed is gone.
 */
import { DatabaseSync } from 'node:sqlite';
import { sql } from 'kysely';
import { systemClock } from '../src/clock.ts';
import type { Storage } from '../src/storage/database.ts';
import { SqliteConnection } from '../src/storage/sqlite/connection.ts';
import { connectSqlite, openSqlite } from '../src/storage/sqlite/store.ts';
import { faultyDatabase } from './faulty-database.ts';
import type { Machine } from './machine.ts';
import type { Medium } from './medium.ts';
import type { SimulatedProcess } from './process.ts';
import { connectServer, SERVER_BOOTED_MS } from './server-store.ts';
import { slowly } from './slow-transactions.ts';

/** `file`: as on one machine, by the real driver. `server`: as PostgreSQL, every statement awaited. */
export type StoreKind = 'file' | 'server';

export type Store = {
  medium: Medium;
  connect(process: SimulatedProcess): Storage;
  /** Reads what is committed; undefined while a transaction is open. */
  read<T>(statement: string): T[] | undefined;
  close(): void;
};

/** The statements that make the schema, by the real migrations, once for all runs. */
const schema = await readSchema();

async function readSchema(): Promise<string> {
  const storage = await openSqlite(':memory:', systemClock);
  const { rows } = await storage.write((tx) =>
    sql<{ sql: string }>`select sql from sqlite_master where sql is not null`.execute(tx),
  );
  await storage.close();
  return rows.map(({ sql: statement }) => statement).join(';');
}

let opened = 0;

/** Opens an empty store with its schema; the file lies on that machine. */
export function openStore(
  kind: StoreKind,
  machine: Machine,
  parts: Pick<Medium, 'scheduler' | 'ledger' | 'random' | 'chances'>,
): Store {
  opened += 1;
  const name = `file:/simulated-${opened}?vfs=memdb`;
  const keeper = new DatabaseSync(name, { timeout: 0 });
  keeper.exec(`pragma synchronous=off;${schema}`);
  const medium: Medium = {
    ...parts,
    faults: true,
    away: false,
    touched: false,
    writer: undefined,
    leaseClock: () =>
      kind === 'file' ? machine.uptime() : SERVER_BOOTED_MS + parts.scheduler.time(),
    open: (leaseClock) => {
      const database = new DatabaseSync(name, { timeout: 0 });
      database.function('monotonic_ms', leaseClock);
      return database;
    },
  };
  const prepared = new Map<string, ReturnType<DatabaseSync['prepare']>>();
  return {
    medium,
    connect: (process) => {
      if (kind === 'server') return connectServer(medium, process);
      return connectSqlite({
        connection: slowly(
          new SqliteConnection(() => faultyDatabase(medium, process), process.clock),
          medium,
          process,
        ),
        clock: process.clock,
        requireRoom: () => {},
      });
    },
    read<T>(statement: string) {
      let reading = prepared.get(statement);
      if (reading === undefined) {
        reading = keeper.prepare(statement);
        prepared.set(statement, reading);
      }
      try {
        return reading.all() as T[];
      } catch {
        return undefined;
      }
    },
    close: () => keeper.close(),
  };
}
