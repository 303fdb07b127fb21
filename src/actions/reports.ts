/**
 * "I did not ask for this" (beyond §4): nothing of a client is asked or sent for a mailbox that reported it. As a
 * rule there are no reports, and an execution pays for them with a look into an index by its claim's own statement.
 */
import type { QueryCreator } from 'kysely';
import type { ConfirmationReportRow } from '../storage/confirmation-schema.ts';
import type { Storage } from '../storage/database.ts';
import { prepareChange, prepareRead } from '../storage/prepare-query.ts';
import type { Schema } from '../storage/schema.ts';

/** Made only where they are looked for: see `mailbox.ts`. */
export type DigestsOfMailbox = () => readonly string[] | Promise<readonly string[]>;

/** Whether a mailbox has reported a client; its digests are made only where anybody has. */
export type IsReported = (client: string, digestsOfMailbox: DigestsOfMailbox) => Promise<boolean>;

/** The reports of a client, as a query of the table or as a part of a statement. */
export function reportsOf(db: Pick<QueryCreator<Schema>, 'selectFrom'>, client: string) {
  return db
    .selectFrom('confirmation_reports')
    .select('confirmation_reports.client')
    .where('confirmation_reports.client', '=', client);
}

/** Returns what asks for one; it throws `StorageUnavailable`. */
export function openReports(storage: Storage): IsReported {
  const any = prepareRead(storage, (db, of: { client: string }) =>
    reportsOf(db, of.client).limit(storage.dialect.constant(1)),
  );
  const find = prepareRead(storage, (db, of: { client: string; mailbox_digest: string }) =>
    reportsOf(db, of.client).where('mailbox_digest', '=', of.mailbox_digest),
  );
  return async (client, digestsOfMailbox) => {
    if ((await storage.read(any({ client }))).length === 0) return false;
    for (const mailbox_digest of await digestsOfMailbox()) {
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
