/** A person's rows in the embedded destination, found by their e-mail address. */
import type { OpenTransaction, Storage } from '../storage/database.ts';

export type InboxCounts = { leads: number; subscriptions: number };

/** How many rows there are of this normalized address. */
export async function countInboxOf(storage: Storage, email: string): Promise<InboxCounts> {
  return countsOf(
    await storage.read((db) => db.selectFrom('inbox').select('type').where('email', '=', email)),
  );
}

/** Deletes them; returns how many there were. */
export async function eraseInboxOf(tx: OpenTransaction, email: string): Promise<InboxCounts> {
  return countsOf(
    await tx.deleteFrom('inbox').where('email', '=', email).returning('type').execute(),
  );
}

function countsOf(rows: readonly { type: string }[]): InboxCounts {
  const subscriptions = rows.filter(({ type }) => type === 'subscriber.created').length;
  return { leads: rows.length - subscriptions, subscriptions };
}
