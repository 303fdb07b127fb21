/** A subscriber, found by their e-mail address, and erased for good (beyond §6). */
import type { OpenTransaction, Storage } from '../storage/database.ts';

/** Whether there is a row of this normalized address: 1 or 0. */
export async function countSubscribersOf(storage: Storage, email: string): Promise<number> {
  const rows = await storage.read((db) =>
    db.selectFrom('subscribers').select('id').where('email', '=', email),
  );
  return rows.length;
}

/** Deletes it; returns how many there were. Its events are submissions of the same address. */
export async function eraseSubscriberOf(tx: OpenTransaction, email: string): Promise<number> {
  const rows = await tx
    .deleteFrom('subscribers')
    .where('email', '=', email)
    .returning('id')
    .execute();
  return rows.length;
}
