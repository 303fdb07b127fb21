/** Counts and erases the submissions of a person, by e-mail address (reference §19.7). */
import { type ExpressionBuilder, sql } from 'kysely';
import type { OpenTransaction, ReadOnly } from '../storage/database.ts';
import type { Schema } from '../storage/schema.ts';

export type PersonCounts = {
  leads: number;
  subscriptions: number;
  /** Number of leads and subscriptions that are being sent and may still arrive. */
  sending: number;
  /** Number of unsubscribe events that have not arrived (reference §13.8). */
  unsubscribed: number;
};

/** Number of rows that one statement of an erasure deletes. */
const ROWS_AT_ONCE = 1_000;

/** Counts the submissions of this normalized address, or only its newest `atMost` submissions. */
export async function countSubmissionsOf(reader: ReadOnly, email: string, atMost?: number): Promise<PersonCounts> {
  const found = await reader.read((db) => {
    const all = db
      .selectFrom('submissions')
      .select((row) => ['form', 'status', isUnsubscribed(row).as('unsubscribed')])
      .where('email', '=', email)
      .orderBy('received_ms', 'desc');
    const some = atMost === undefined ? all : all.limit(reader.dialect.constant(atMost));
    return db
      .selectFrom(some.as('some'))
      .select((row) => ['form', 'status', 'unsubscribed', row.fn.countAll<number>().as('rows')])
      .groupBy(['form', 'status', 'unsubscribed']);
  });
  return countsOf(found);
}

/**
 * Deletes the submissions of this address with their attempts. Returns the counts and ids of these submissions. One
 * statement returns few rows, because the event loop reads them at once.
 */
export async function eraseSubmissionsOf(
  tx: OpenTransaction,
  email: string,
): Promise<{ counts: PersonCounts; ids: string[] }> {
  // Tests of agents are not counted, and their content is erased too (reference §27.6).
  await tx.deleteFrom('sandbox_contents').where('email', '=', email).execute();
  const all = { counts: countsOf([]), ids: [] as string[] };
  for (let isLast = false; ; ) {
    const deleted = tx.deleteFrom('submissions').where('email', '=', email);
    const some = tx.selectFrom('submissions').select('id').where('email', '=', email).limit(ROWS_AT_ONCE);
    // The last statement has no limit, so that no row of a concurrent change remains.
    const erased = await (isLast ? deleted : deleted.where('id', 'in', some))
      .returning((row) => ['id', 'form', 'status', isUnsubscribed(row).as('unsubscribed')])
      .execute();
    const counts = countsOf(erased.map((row) => ({ ...row, rows: 1 })));
    for (const kind of Object.keys(counts) as (keyof PersonCounts)[]) all.counts[kind] += counts[kind];
    for (const { id } of erased) all.ids.push(id);
    if (isLast) return all;
    isLast = erased.length < ROWS_AT_ONCE;
  }
}

/** Selects 1 for an unsubscribe event that has not arrived, else 0. The text of an event begins with its type. */
function isUnsubscribed(row: ExpressionBuilder<Schema, 'submissions'>) {
  const isThat = row.and([
    row('status', '<>', 'delivered'),
    row('event', 'like', '{"type":"subscriber.unsubscribed"%'),
  ]);
  return row.case().when(isThat).then(sql.lit(1)).else(sql.lit(0)).end();
}

type Found = { form: string; status: string; unsubscribed: number; rows: number };

/** Adds up the rows. Every event of a subscriber counts as a subscription. */
function countsOf(found: readonly Found[]): PersonCounts {
  const sum = (is: (row: Found) => boolean) => found.reduce((all, row) => all + (is(row) ? Number(row.rows) : 0), 0);
  return {
    leads: sum(({ form }) => form !== 'newsletter'),
    subscriptions: sum(({ form }) => form === 'newsletter'),
    sending: sum(({ status }) => status === 'sending'),
    unsubscribed: sum((row) => Number(row.unsubscribed) === 1),
  };
}
