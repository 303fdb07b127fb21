/**
 * Kysely over SQLite. It is loaded for the first query that is built, not with this file: its 250
 * files are a fifth of a start.
 */
import type { DatabaseConnection, Driver, Kysely } from 'kysely';
import { once, require } from '../../once.ts';
import { StorageUnavailable } from '../database.ts';
import type { Schema } from '../schema.ts';
import type { SqliteConnection } from './connection.ts';

/** The library, loaded when it is first asked for. Throws `StorageUnavailable` where it can't be. */
export const kysely = once((): typeof import('kysely') => {
  try {
    return require('kysely');
  } catch (error) {
    throw new StorageUnavailable('Kysely could not be loaded.', { cause: error });
  }
});

/** Kysely in SQLite's dialect, over whatever drives its statements. */
export function kyselyOver(driver: Driver): Kysely<Schema> {
  const { Kysely, SqliteAdapter, SqliteIntrospector, SqliteQueryCompiler } = kysely();
  class Adapter extends SqliteAdapter {
    /**
     * The exclusion on the one connection: told that there are not several, Kysely gives it to one
     * transaction, or to one statement outside of any, at a time. The others wait, so that no statement
     * slips into a transaction of somebody else.
     */
    override get supportsMultipleConnections(): boolean {
      return false;
    }
    /** Kysely's own does not say so, but SQLite changes its schema inside transactions as well. */
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

/** Drives one connection, which the adapter above gives to one at a time. */
export function driverOf(connection: SqliteConnection): Driver {
  return {
    init: async () => {},
    acquireConnection: async (): Promise<DatabaseConnection> => connection,
    beginTransaction: () => connection.begin(),
    commitTransaction: () => connection.commit(),
    rollbackTransaction: async () => connection.rollback(),
    releaseConnection: async () => {},
    destroy: async () => connection.end(),
  };
}
