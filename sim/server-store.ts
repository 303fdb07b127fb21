/**
 * A store behind a simulated network, like PostgreSQL. Statements take time, connections break, and an answer may be
 * lost. A process may die or pause before and after each statement.
 */
import type { SQLInputValue } from 'node:sqlite';
import { type CompiledQuery, type DatabaseConnection, type Driver, type QueryResult, sql } from 'kysely';
import { type Storage, StorageUnavailable } from '../src/storage/database.ts';
import { readAndWrite } from '../src/storage/queries.ts';
import { kyselyOver } from '../src/storage/sqlite/connection.ts';
import { sqliteDialect } from '../src/storage/sqlite/store.ts';
import type { Connection, Prepared } from './database.ts';
import type { Medium } from './medium.ts';
import type { SimulatedProcess } from './process.ts';

const LOCK_TIMEOUT_MS = 2_000;
const LOCK_RETRY_MS = 20;
/** Duration of a slow insert. A person waits two seconds for the store. */
const SLOW_INSERT_MS = { least: 1_900, most: 4_000 };
/** Time after which the server ends a transaction of a silent client (`idle_in_transaction_session_timeout`). */
const TRANSACTION_TIMEOUT_MS = 6_000;
/** The server's clock at time 0. The server's clock is independent of the clocks of the processes. */
export const SERVER_BOOTED_MS = 5_000_000;

const SQLITE_BUSY = 5;

/** Connects a process to the store. */
export function connectServer(medium: Medium, process: SimulatedProcess): Storage {
  const db = kyselyOver(new ServerDriver(medium, process));
  return {
    // The statements use the dialect of SQLite. Commits behave as on a server.
    kind: 'sqlite',
    dialect: {
      ...sqliteDialect(),
      leaseExpired: sql<boolean>`(lease_started_ms + lease_ms <= monotonic_ms())`,
    },
    ...readAndWrite(db),
    scrub: async () => 'clean',
    scrubLockMs: () => 0,
    requireDiskSpace: () => {},
    check: async () => void (await sql`select 1`.execute(db)),
    close: () => db.destroy(),
  };
}

class ServerDriver implements Driver {
  readonly #medium: Medium;
  readonly #process: SimulatedProcess;
  readonly #idle: ServerConnection[] = [];

  constructor(medium: Medium, process: SimulatedProcess) {
    this.#medium = medium;
    this.#process = process;
  }

  async init(): Promise<void> {}

  async acquireConnection(): Promise<ServerConnection> {
    return this.#idle.pop() ?? new ServerConnection(this.#medium, this.#process);
  }

  async beginTransaction(connection: ServerConnection): Promise<void> {
    await connection.ask('begin immediate', []);
  }

  async commitTransaction(connection: ServerConnection): Promise<void> {
    await connection.ask('commit', []);
  }

  async rollbackTransaction(connection: ServerConnection): Promise<void> {
    connection.give();
  }

  async releaseConnection(connection: ServerConnection): Promise<void> {
    if (connection.isWhole()) this.#idle.push(connection);
  }

  async destroy(): Promise<void> {}
}

class ServerConnection implements DatabaseConnection {
  readonly #medium: Medium;
  readonly #process: SimulatedProcess;
  #database: Connection | undefined;
  #keepTransaction = () => {};

  constructor(medium: Medium, process: SimulatedProcess) {
    this.#medium = medium;
    this.#process = process;
    const { scheduler } = medium;
    this.#database = medium.open(() => Math.floor(SERVER_BOOTED_MS + scheduler.time()), process);
    process.whenKilled(() => this.give());
  }

  isWhole(): boolean {
    return this.#database !== undefined;
  }

  /** Closes the connection. The server rolls back its open transaction. */
  give(): void {
    this.#database?.close();
    this.#database = undefined;
  }

  async executeQuery<R>(query: CompiledQuery): Promise<QueryResult<R>> {
    return await this.ask<R>(query.sql, query.parameters);
  }

  // biome-ignore lint/correctness/useYield: Kysely requires the method, but no query streams.
  async *streamQuery<R>(): AsyncIterableIterator<QueryResult<R>> {
    throw new Error('Streaming is not used.');
  }

  async ask<R>(text: string, parameters: readonly unknown[]): Promise<QueryResult<R>> {
    await this.#gate(text, 'before');
    await this.#delayInsert(text);
    const deadline = this.#medium.scheduler.time() + LOCK_TIMEOUT_MS;
    for (;;) {
      const database = this.#database;
      if (database === undefined) throw new StorageUnavailable('The connection was lost.');
      try {
        const result = run<R>(database.prepare(text), parameters);
        const ranAt = this.#medium.scheduler.time();
        if (!text.startsWith('select')) this.#wrote(database);
        if (text === 'begin immediate') this.#limitTransaction();
        if (text === 'commit') this.#keepTransaction();
        await this.#gate(text, 'after');
        this.#process.reach(ranAt);
        return result;
      } catch (error) {
        this.#process.hinder();
        if ((error as { errcode?: number }).errcode !== SQLITE_BUSY) throw error;
        if (this.#medium.scheduler.time() >= deadline) {
          this.give();
          throw new StorageUnavailable('A lock was not had in time.');
        }
        await this.#wait(LOCK_RETRY_MS);
      }
    }
  }

  /** Records the writer. Sets `touched` only after a commit, because nobody sees a change before the commit. */
  #wrote(database: Connection): void {
    this.#medium.writer = this.#process;
    if (!database.isTransaction()) this.#medium.touched = true;
  }

  #limitTransaction(): void {
    const { scheduler } = this.#medium;
    this.#keepTransaction = scheduler.after(TRANSACTION_TIMEOUT_MS, () => this.give());
  }

  /** Simulates the way of a statement to the server, or of the answer back, with the faults that strike on the way. */
  async #gate(text: string, when: 'before' | 'after'): Promise<void> {
    const { random, chances, ledger } = this.#medium;
    // This reads `faults` each time, because the faults may have stopped while this process was paused.
    const strikes = (chance: number) => this.#medium.faults && random.chance(chance);
    await this.#wait(random.between(0, 3));
    if (strikes(chances.crashAtStatement)) {
      ledger.fault(`crash ${when} a statement`, `${this.#process.name}: ${text}`);
      this.#process.kill();
    }
    const isClaim = when === 'after' && text.startsWith('update "messages" set "attempts"');
    const pauses = isClaim ? chances.pauseInClaim : chances.pauseAtStatement;
    if (strikes(pauses)) {
      ledger.fault(isClaim ? 'pause in the take of a message' : 'pause at a statement');
      this.#process.pause(random.between(100, chances.pauseMaximumMs));
      await this.#wait(0);
    }
    const lost = when === 'after' && text === 'commit' && strikes(chances.commitAnswerLost);
    if (lost || strikes(chances.statementFails)) {
      ledger.fault(`statement fails ${when} its effect`, `${this.#process.name}: ${text}`);
      this.give();
    }
    if (this.#medium.away) this.give();
    if (!this.isWhole()) {
      this.#process.hinder();
      throw new StorageUnavailable('The connection was lost.');
    }
  }

  /** Delays an insert outside of a transaction, where the insert holds no lock that other statements wait for. */
  async #delayInsert(text: string): Promise<void> {
    const { random, chances, ledger, faults } = this.#medium;
    if (!text.startsWith('insert into "submissions"') || this.#database?.isTransaction()) return;
    if (!faults || !random.chance(chances.slowInsert)) return;
    ledger.fault('an insert takes longer than its person waits');
    const ms = random.between(SLOW_INSERT_MS.least, SLOW_INSERT_MS.most);
    // The process has one connection here, so its other statements wait meanwhile.
    this.#process.hinder(this.#medium.scheduler.time() + ms);
    await this.#wait(ms);
  }

  #wait(ms: number): Promise<void> {
    return new Promise((resolve) => void this.#process.after(ms, resolve));
  }
}

function run<R>({ statement, returnsRows }: Prepared, parameters: readonly unknown[]): QueryResult<R> {
  const values = parameters as SQLInputValue[];
  if (returnsRows) return { rows: statement.all(...values) as R[] };
  const { changes } = statement.run(...values);
  return { rows: [], numAffectedRows: BigInt(changes) };
}
