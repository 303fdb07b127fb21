/**
 * The databases in memory that the runs of this process take turns with. Schema, connections and prepared
 * statements are made once: for each run anew they were a third of its cost. What a run has written is
 * deleted at its end, and what it had not committed is rolled back.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { sql } from 'kysely';
import { systemClock } from '../src/clock.ts';
import { openSqlite } from '../src/storage/sqlite/store.ts';

/** What the SQL functions of a connection say: `monotonic_ms()` and `wall_ms()`. */
type Clocks = { monotonic(): number; wall(): number };

export type Prepared = { statement: StatementSync; returnsRows: boolean };

export type Connection = {
  /** Throws SQLITE_BUSY as a new connection does: it reads the schema first, and not beside a writer. */
  prepare(text: string): Prepared;
  exec(text: string): void;
  isTransaction(): boolean;
  /** What was not committed is rolled back. */
  close(): void;
};

export type Database = {
  connect(clocks: Clocks): Connection;
  /** Reads what is committed; undefined while a transaction is open. */
  read<T>(text: string, ...values: SQLInputValue[]): T[] | undefined;
  /** Ends the run's use of it, with every connection closed. */
  leave(): void;
};

/** A connection that lasts, with whatever it was asked before. */
type Lasting = { database: DatabaseSync; clocks: Clocks; prepared: Map<string, Prepared> };

/** The statements that make the schema, by the real migrations. */
const schema = await readSchema();

async function readSchema(): Promise<string> {
  const storage = await openSqlite(':memory:', systemClock);
  const { rows } = await storage.write((tx) =>
    sql<{ sql: string }>`select sql from sqlite_master where sql is not null`.execute(tx),
  );
  await storage.close();
  return rows.map(({ sql: statement }) => statement).join(';');
}

/** Without one of these a statement is prepared without the schema. */
const NAMES_A_TABLE = /\b(?:from|into|update) /;
const READ_SCHEMA = 'pragma schema_version';

const idle: Database[] = [];
let made = 0;

/** Takes a database that is empty, and nobody else's. */
export function takeDatabase(): Database {
  return idle.pop() ?? makeDatabase();
}

function makeDatabase(): Database {
  made += 1;
  const name = `file:/simulated-${made}?vfs=memdb`;
  // It lasts as long as one of its connections.
  const keeper = openLasting(name);
  keeper.database.exec(`pragma synchronous=off;${schema}`);
  const tables = keeper.database
    .prepare("select name from sqlite_schema where type = 'table' and name not like 'sqlite%'")
    .all();
  const empty = ['begin', ...tables.map(({ name: table }) => `delete from "${table}"`), 'commit'];
  const closed: Lasting[] = [];
  const database: Database = {
    connect: (clocks) => {
      const lasting = closed.pop() ?? openLasting(name);
      lasting.clocks = clocks;
      return connectionOver(lasting, () => closed.push(lasting));
    },
    read<T>(text: string, ...values: SQLInputValue[]) {
      try {
        return prepare(keeper, text).statement.all(...values) as T[];
      } catch {
        return undefined;
      }
    },
    leave: () => {
      keeper.database.exec(empty.join(';'));
      idle.push(database);
    },
  };
  return database;
}

function openLasting(name: string): Lasting {
  const database = new DatabaseSync(name, { timeout: 0 });
  const none = { monotonic: () => 0, wall: () => 0 };
  const lasting: Lasting = { database, clocks: none, prepared: new Map() };
  const once = { deterministic: true };
  database.function('monotonic_ms', once, () => lasting.clocks.monotonic());
  database.function('wall_ms', once, () => lasting.clocks.wall());
  return lasting;
}

function prepare({ database, prepared }: Lasting, text: string): Prepared {
  let known = prepared.get(text);
  if (known === undefined) {
    const statement = database.prepare(text);
    known = { statement, returnsRows: statement.columns().length > 0 };
    prepared.set(text, known);
  }
  return known;
}

/** A connection as if it were new: as long as it is open, it is nobody else's. */
function connectionOver(lasting: Lasting, giveBack: () => void): Connection {
  const { database } = lasting;
  let open = true;
  let knowsSchema = false;
  const requireOpen = () => {
    if (!open) throw new Error('The connection is closed.');
  };
  return {
    prepare: (text) => {
      requireOpen();
      if (!knowsSchema && NAMES_A_TABLE.test(text)) {
        prepare(lasting, READ_SCHEMA).statement.all();
        knowsSchema = true;
      }
      return prepare(lasting, text);
    },
    exec: (text) => {
      requireOpen();
      database.exec(text);
    },
    isTransaction: () => open && database.isTransaction,
    close: () => {
      if (!open) return;
      open = false;
      if (database.isTransaction) database.exec('rollback');
      giveBack();
    },
  };
}
