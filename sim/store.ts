/**
 * The store of a run: one in-memory SQLite database that outlives every process of the run. Each process has its own
 * connections. A connection may fail, break or lose an answer before and after every statement. When a process dies,
 * its uncommitted changes are rolled back.
 */
import type { Storage } from '../src/storage/database.ts';
import { SqliteConnection } from '../src/storage/sqlite/connection.ts';
import { connectSqlite } from '../src/storage/sqlite/store.ts';
import { type Database, takeDatabase } from './database.ts';
import { faultyDatabase } from './faulty-database.ts';
import type { Machine } from './machine.ts';
import type { Medium } from './medium.ts';
import { BEGAN, type SimulatedProcess } from './process.ts';
import { connectServer, SERVER_BOOTED_MS } from './server-store.ts';
import { slowly } from './slow-transactions.ts';

/** `file` uses the real driver, as on one machine. `server` awaits every statement, like PostgreSQL. */
export type StoreKind = 'file' | 'server';

export type Store = {
  medium: Medium;
  connect(process: SimulatedProcess): Storage;
  read: Database['read'];
  close(): void;
};

/** Opens an empty store with its schema. A file is on `machine`. */
export function openStore(
  kind: StoreKind,
  machine: Machine,
  parts: Pick<Medium, 'scheduler' | 'ledger' | 'random' | 'chances'>,
): Store {
  const database = takeDatabase();
  const medium: Medium = {
    ...parts,
    faults: true,
    away: false,
    touched: false,
    writer: undefined,
    leaseClock: () => (kind === 'file' ? machine.uptime() : SERVER_BOOTED_MS + parts.scheduler.time()),
    aheadMs: 0,
    movedAt: Number.NEGATIVE_INFINITY,
    wallClock: (process) => {
      const now = BEGAN + parts.scheduler.time() + medium.aheadMs;
      return kind === 'file' ? now + (process?.machine.wallStepMs() ?? 0) : now;
    },
    open: (leaseClock, process) =>
      database.connect({
        monotonic: leaseClock,
        wall: () => Math.floor(medium.wallClock(process)),
      }),
  };
  return {
    medium,
    connect: (process) => {
      if (kind === 'server') return connectServer(medium, process);
      return connectSqlite({
        connection: slowly(new SqliteConnection(() => faultyDatabase(medium, process), process.clock), medium, process),
        clock: process.clock,
        requireDiskSpace: () => {},
        scrub: async () => 'clean',
        scrubLockMs: () => 0,
      });
    },
    read: database.read,
    close: database.leave,
  };
}
