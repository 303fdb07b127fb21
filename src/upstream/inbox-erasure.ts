/** A person's rows in the embedded destination, found by their e-mail address. */
import type { Database } from '../storage/schema.ts';

export type InboxCounts = { leads: number; subscriptions: number };

/** How many rows there are of this normalized address. */
export async function countInboxOf(db: Database, email: string): Promise<InboxCounts> {
  return countsOf(await db.selectFrom('inbox').select('type').where('email', '=', email).execute());
}

/** Deletes them; returns how many there were. */
export async function eraseInboxOf(db: Database, email: string): Promise<InboxCounts> {
  return countsOf(
    await db.deleteFrom('inbox').where('email', '=', email).returning('type').execute(),
  );
}

function countsOf(rows: readonly { type: string }[]): InboxCounts {
  const subscriptions = rows.filter(({ type }) => type === 'subscriber.created').length;
  return { leads: rows.length - subscriptions, subscriptions };
}
