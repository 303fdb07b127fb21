/** The store as a part: the database, where it differs by kind, and how it says it is away. */
import type { CompiledQuery, Kysely, RawBuilder } from 'kysely';
import type { Database, Schema } from './schema.ts';

export type Storage = {
  kind: 'sqlite' | 'postgres';
  db: Kysely<Schema>;
  /** Milliseconds on the clock that judges leases: never an application's wall clock (contract §4). */
  leaseClock: RawBuilder<number>;
  /** Of a row of `executions`: whether its lease has run out by that clock. */
  leaseHasRunOut: RawBuilder<boolean>;
  /** Reads what is committed, without waiting for whoever writes. */
  read<R>(query: CompiledQuery<R>): Promise<R[]>;
  /** Runs a statement within a write of this store; returns whether it changed a row. */
  change(within: Database, query: CompiledQuery): Promise<boolean>;
  /**
   * Runs one writing statement, durable when it resolves; it may share its commit with others. It may
   * run again after a rollback, so it does nothing but its statement.
   */
  write<T>(run: (within: Database) => Promise<T>): Promise<T>;
  /** The same for several statements that stand or fall together. */
  transact<T>(run: (within: Database) => Promise<T>): Promise<T>;
  /** Throws `StorageUnavailable` while the disk has no more room than open executions may need. */
  requireRoom(): void;
  /** Resolves when something could be written; throws `StorageUnavailable` when it can't. */
  check(): Promise<void>;
  close(): Promise<void>;
};

/** The store can't be reached or can't keep what it is given: 503 wherever it is first needed. */
export class StorageUnavailable extends Error {
  override name = 'StorageUnavailable';
}
