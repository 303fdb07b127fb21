/** Whole copies of a database, alike for both kinds; `place` is its path or its address. */
import type { Storage } from './database.ts';

type Copies = {
  /** Copies what is committed now, while writers go on. Mode 0600. */
  copyTo(file: string, place: string): void | Promise<void>;
  /** Reads all of a copy; throws where it is damaged, another program's, or newer than we are. */
  examineCopy(file: string): void | Promise<void>;
  /** Replaces everything in the database; throws where the service runs on it. */
  restoreFrom(file: string, place: string): Promise<void>;
};

/** Loads what the kind of database needs, and nothing of the other. */
export async function copiesOf(kind: Storage['kind']): Promise<Copies> {
  return await (kind === 'sqlite' ? import('./sqlite/copy.ts') : import('./postgres/copy.ts'));
}
