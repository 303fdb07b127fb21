/**
 * The in-memory databases of this process. Only one run at a time uses a database. Schema, connections and prepared
 * statements are created once, because creating them for each run took a third of the run's time. At the end of a run,
 * the rows are deleted and open transactions are rolled back.
 */
import { DatabaseSync, type SQLInputValue, type StatementSync } from 'node:sqlite';
import { sql } from 'kysely';
import { systemClock } from '../src/platform/clock.ts';
import { openSqlite } from '../src/storage/sqlite/store.ts';

/** Sources of the SQL functions `monotonic_ms()` and `wall_ms()` of a connection. */
type Clocks = { monotonic(): number; wall(): number };

export type Prepared = { statement: StatementSync; returnsRows: boolean };

export type Connection = {
  /**
   * Prepares a statement. Throws SQLITE_BUSY while another connection writes, because a new connection reads the schema
   * first.
   */
  prepare(text: string): Prepared;
  exec(text: string): void;
  isTransaction(): boolean;
  /** Closes the connection and rolls back an open transaction. */
  close(): void;
};

export type Database = {
  connect(clocks: Clocks): Connection;
  /** Returns committed rows, or undefined while a transaction is open. */
  read<T>(text: string, ...values: SQLInputValue[]): T[] | undefined;
  /** Deletes the rows and releases the database for the next run. All connections must be closed. */
  leave(): void;
};

/** A connection that later runs reuse, with its prepared statements. */
type Lasting = { database: DatabaseSync; clocks: Clocks; prepared: Map<string, Prepared> };

/** The statements that create the schema, from the real migrations. */
const schema = await readSchema();

async function readSchema(): Promise<string> {
  const storage = await openSqlite(':memory:', systemClock);
  const { rows } = await storage.write((tx) =>
    sql<{ sql: string }>`select sql from sqlite_master where sql is not null`.execute(tx),
  );
  await storage.close();
  return rows.map(({ sql: statement }) => statement).join(';');
}

/** Matches statements that name a table. SQLite prepares other statements without the schema. */
const NAMES_A_TABLE = /\b(?:from|into|update) /;
const READ_SCHEMA = 'pragma schema_version';

/** The tables, with their columns of text. */
export const tables = tablesOf(schema);

function tablesOf(statements: string): { name: string; columns: string[] }[] {
  const database = new DatabaseSync(':memory:');
  database.exec(statements);
  const named = database.prepare(
    "select name from sqlite_schema where type = 'table' and name not like 'sqlite%' order by name",
  );
  const all = named.all().map(({ name }) => {
    const columns = database.prepare(`select name from pragma_table_info('${name}') where type = 'TEXT'`).all();
    return { name: String(name), columns: columns.map((column) => String(column.name)) };
  });
  database.close();
  return all;
}

const idle: Database[] = [];
let made = 0;

/** Returns an empty database that no other run uses. */
export function takeDatabase(): Database {
  return idle.pop() ?? makeDatabase();
}

function makeDatabase(): Database {
  made += 1;
  const name = `file:/simulated-${made}?vfs=memdb`;
  // SQLite deletes the database when its last connection closes.
  const keeper = openLasting(name);
  keeper.database.exec(`pragma synchronous=off;${schema}`);
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
  let cached = prepared.get(text);
  if (cached === undefined) {
    const statement = database.prepare(text);
    cached = { statement, returnsRows: statement.columns().length > 0 };
    prepared.set(text, cached);
  }
  return cached;
}

/** Returns a connection that behaves like a new one. While it is open, nothing else uses it. */
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
