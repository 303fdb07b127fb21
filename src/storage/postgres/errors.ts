/** What an error of PostgreSQL says: that the store is away, or that a mistake is ours. */
import pg from 'pg';
import { StorageUnavailable } from '../database.ts';

/** Data, constraint and syntax errors are our own mistakes; all others mean the store is away. */
export function judge(error: unknown): unknown {
  const code = (error as { code?: string }).code ?? '';
  if (isSqlState(error) && /^(0A|22|23|42)/.test(code)) return error;
  return new StorageUnavailable('PostgreSQL could not run a statement.', { cause: error });
}

export function isSqlState(error: unknown): error is pg.DatabaseError {
  return error instanceof pg.DatabaseError;
}

/** Lost connections, shutdowns and the time-out of an idle transaction: the server ends the session. */
export function isFarewell({ code = '' }: pg.DatabaseError): boolean {
  return /^(08|57P|25P03)/.test(code);
}
