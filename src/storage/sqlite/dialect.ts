/** The pieces of a query that SQLite says differently. */
import type { Dialect } from '../database.ts';
import { kysely } from './kysely.ts';

/** Sorts behind whatever follows the beginning of a text. */
const LAST_CHARACTER = '\u{10FFFF}';

/** What SQLite says in its own way; it has the functions of `file.ts`. */
export function sqliteDialect(): Dialect {
  const { sql } = kysely();
  return {
    // The machine's monotonic clock: shared by all processes that can open the file.
    leaseClock: sql<number>`monotonic_ms()`,
    // A start later than now was counted before the machine restarted: its holder is gone.
    leaseHasRunOut: sql<boolean>`(lease_started_ms + lease_ms <= monotonic_ms() or lease_started_ms > monotonic_ms())`,
    // There is one writer at a time, and there are no locks on rows.
    heldUntilCommit: () => sql`1`,
    forUpdate: (query) => query,
    skipLocked: (query) => query,
    wallClock: sql<number>`wall_ms()`,
    constant: (value) => sql.lit(value),
    partialOn: (column, text) => sql<boolean>`likely(${sql.ref(column)} = ${sql.lit(text)})`,
    beginsWith: (column, text) =>
      sql<boolean>`(${sql.ref(column)} >= ${text} and ${sql.ref(column)} < ${text + LAST_CHARACTER})`,
    // In any case of ASCII, as its `like` compares; `instr` of what `lower` and `substr` made took twice as long.
    mentions: (text) =>
      sql<boolean>`event like ${`%"fields":%${text.replace(/[\\%_]/g, '\\$&')}%`} escape '\\'`,
    withoutFields: sql<string>`json_set(event, '$.data.fields', json('{}'))`,
    nestsChanges: false,
    // It is run only then.
    firstChanged: sql<boolean>`true`,
  };
}
