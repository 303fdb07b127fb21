/**
 * "I did not ask for this" (beyond §4): nothing of a client is asked or sent for a mailbox that reported it. As a
 * rule there are no reports, and an execution pays for them with one look into an index.
 */
import type { Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/prepare-query.ts';
import type { ConfirmationReportRow } from '../storage/schema.ts';

/**
 * Returns what asks whether a mailbox has reported a client; its digests are made only where anybody has. It
 * throws `StorageUnavailable`.
 */
export function openReports(
  storage: Storage,
): (client: string, digestsOfMailbox: () => readonly string[]) => Promise<boolean> {
  const any = prepareRead(storage, (db, of: { client: string }) =>
    db
      .selectFrom('confirmation_reports')
      .select('client')
      .where('client', '=', of.client)
      .limit(storage.dialect.constant(1)),
  );
  const find = prepareRead(storage, (db, of: { client: string; mailbox_digest: string }) =>
    db
      .selectFrom('confirmation_reports')
      .select('client')
      .where('client', '=', of.client)
      .where('mailbox_digest', '=', of.mailbox_digest),
  );
  return async (client, digestsOfMailbox) => {
    if ((await storage.read(any({ client }))).length === 0) return false;
    for (const mailbox_digest of digestsOfMailbox()) {
      if ((await storage.read(find({ client, mailbox_digest }))).length > 0) return true;
    }
    return false;
  };
}

/** Writes a report down; a later one of the same counts from then. */
export function prepareReport(storage: Storage) {
  return prepareChange(storage, (db, of: ConfirmationReportRow) =>
    db
      .insertInto('confirmation_reports')
      .values({
        client: of.client,
        mailbox_digest: of.mailbox_digest,
        reported_at: of.reported_at,
      })
      .onConflict((conflict) =>
        conflict
          .columns(['client', 'mailbox_digest'])
          .doUpdateSet((row) => ({ reported_at: row.ref('excluded.reported_at') })),
      ),
  );
}
