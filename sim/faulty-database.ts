/**
 * A connection for `storage/sqlite/store.ts` whose statements fail as in SQLite: before or after their effect, with a
 * rollback, or with an unknown outcome.
 */
import type { DatabaseSync, SQLInputValue } from 'node:sqlite';
import type { SqliteDatabase } from '../src/storage/sqlite/connection.ts';
import type { Connection } from './database.ts';
import type { Medium } from './medium.ts';
import type { SimulatedProcess } from './process.ts';

const IO_ERROR = 10;
const FULL = 13;
const FSYNC_ERROR = 1034;

/** Opens a connection of a process. The connection closes when the process is killed. */
export function faultyDatabase(medium: Medium, process: SimulatedProcess): SqliteDatabase {
  if (medium.away || !process.isAlive()) {
    process.hinder();
    throw sqliteError(IO_ERROR);
  }
  const { clock } = process;
  const database = medium.open(() => clock.monotonic(), process);
  process.whenKilled(database.close);

  const around = <T>(text: string, run: () => T): T => {
    try {
      if (!process.isAlive() || medium.away) throw sqliteError(IO_ERROR);
      strike(medium, process, database, text, 'before');
      if (text === 'commit') loseAnswer(medium, process, database);
      const result = run();
      if (!text.startsWith('select')) wrote(medium, process, database);
      strike(medium, process, database, text, 'after');
      process.reach(medium.scheduler.time());
      return result;
    } catch (error) {
      process.hinder();
      throw error;
    }
  };

  /** An in-memory database blocks readers while a connection writes, even if they only prepare a statement. */
  const prepare = (text: string) => {
    try {
      return database.prepare(text);
    } catch (error) {
      process.hinder();
      throw error;
    }
  };

  return {
    prepare: (text: string) => {
      const { statement, returnsRows } = prepare(text);
      return {
        columns: () => (returnsRows ? [statement] : []),
        all: (...values: SQLInputValue[]) => around(text, () => statement.all(...values)),
        run: (...values: SQLInputValue[]) => around(text, () => statement.run(...values)),
      } as unknown as ReturnType<DatabaseSync['prepare']>;
    },
    exec: (text) => around(text, () => database.exec(text)),
    close: database.close,
    get isTransaction() {
      return database.isTransaction();
    },
  };
}

/** Records the writer. Sets `touched` only after a commit, because nobody sees a change before the commit. */
function wrote(medium: Medium, process: SimulatedProcess, database: Connection): void {
  medium.writer = process;
  if (!database.isTransaction()) medium.touched = true;
}

function strike(
  { random, chances, ledger, faults }: Medium,
  process: SimulatedProcess,
  database: Connection,
  text: string,
  when: 'before' | 'after',
): void {
  if (!faults) return;
  if (random.chance(chances.crashAtStatement)) {
    ledger.fault(`crash ${when} a statement`, `${process.name}: ${text}`);
    process.kill();
    throw sqliteError(IO_ERROR);
  }
  if (random.chance(chances.pauseAtStatement)) {
    ledger.fault('pause at a statement', process.name);
    process.pause(random.between(100, chances.pauseMaximumMs));
  }
  if (random.chance(chances.statementFails)) {
    ledger.fault(`statement fails ${when} its effect`, `${process.name}: ${text}`);
    const full = random.chance(0.3);
    // SQLite rolls the transaction back when the disk is full.
    if (full && database.isTransaction()) database.exec('rollback');
    throw sqliteError(full ? FULL : IO_ERROR);
  }
}

/** Simulates a failed fsync. Only a new connection shows whether the commit took effect. */
function loseAnswer(medium: Medium, process: SimulatedProcess, database: Connection): void {
  const { random, chances, ledger, faults } = medium;
  if (!faults || !random.chance(chances.commitAnswerLost)) return;
  const isThere = random.chance(0.5);
  ledger.fault('commit with an unknown outcome', isThere ? 'it is there' : 'it is not there');
  database.exec(isThere ? 'commit' : 'rollback');
  wrote(medium, process, database);
  throw sqliteError(FSYNC_ERROR);
}

function sqliteError(errcode: number): Error {
  return Object.assign(new Error(`simulated SQLite error ${errcode}`), { errcode });
}
