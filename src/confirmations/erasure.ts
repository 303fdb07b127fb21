/** What a person was asked, found by their e-mail address, and erased (beyond §4): it ends, and its fields go. */
import { prepareEndings } from '../actions/press-queries.ts';
import { isoTime } from '../clock.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';

/** How many pending ones there are for this normalized address. */
export async function countConfirmationsOf(storage: Storage, email: string): Promise<number> {
  const rows = await storage.read((db) =>
    db.selectFrom('confirmations').select('id').where('email', '=', email),
  );
  return rows.length;
}

/**
 * Ends them as expired, takes out what would have been sent, and deletes their codes that wait in the outbox;
 * returns how many there were. One that is pressed at the same moment is sent or ended, never both: each is an
 * update of a row that is still asked.
 */
export async function eraseConfirmationsOf(
  storage: Storage,
  tx: OpenTransaction,
  email: string,
  now: Date,
): Promise<number> {
  const endings = prepareEndings(storage);
  const found = await tx
    .selectFrom('confirmations')
    .select(['id', 'code_number'])
    .where('email', '=', email)
    .execute();
  for (const { id, code_number } of found) {
    await tx.change(endings.expired({ id, settled_at: isoTime(now.getTime()) }));
    await tx.change(endings.forget({ id }));
    const codes = Array.from({ length: code_number }, (_, index) => `${id}.${index + 1}`);
    if (codes.length === 0) continue;
    await tx.deleteFrom('messages').where('kind', '=', 'code').where('key', 'in', codes).execute();
  }
  return found.length;
}
