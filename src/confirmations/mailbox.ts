/**
 * Identifies a mailbox without its address (reference §6.14), by a keyed digest of the lower-cased address without its
 * plus-tag. Reports use the digest. The random key of the digest is made once and stored in the database, because all
 * instances need the same key. A report lives as long as receipts, so the key does not depend on the signing keys.
 */
import { createHmac } from 'node:crypto';
import { mailboxOf } from '../mail/messages.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';

const PURPOSE = 'lead-intake mailbox v1\n';
/** A separate purpose, so that codes for sandbox clients do not use up the limits of a real mailbox. */
const SANDBOX_PURPOSE = 'lead-intake sandbox mailbox v1\n';

const KEY_BYTES = 32;
/** Id of the only row of the table `mailbox_key`. */
const ID = 1;

export type Mailboxes = ReturnType<typeof openMailboxes>;

/** Returns the functions for digests and reports. The first digest makes the key. They throw `StorageUnavailable`. */
export function openMailboxes(parts: {
  storage: Storage;
  randomSecret: (bytes: number) => Buffer;
  isSandbox?: boolean;
}) {
  const { storage, randomSecret, isSandbox = false } = parts;
  const purpose = isSandbox ? SANDBOX_PURPOSE : PURPOSE;
  let key: Buffer | undefined;

  async function storedKey(): Promise<Buffer | undefined> {
    const [row] = await storage.read((db) => db.selectFrom('mailbox_key').select('secret'));
    return row && Buffer.from(row.secret, 'base64');
  }

  /** Inserts the key. If several instances start together, one insert wins and all instances read the inserted row. */
  async function makeKey(): Promise<Buffer> {
    const secret = randomSecret(KEY_BYTES).toString('base64');
    await storage.write((tx) =>
      tx
        .insertInto('mailbox_key')
        .values({ id: ID, secret })
        .onConflict((conflict) => conflict.doNothing())
        .execute(),
    );
    const made = await storedKey();
    if (made === undefined) throw new Error('The key of the mailboxes was stored and is gone.');
    return made;
  }

  /** Returns the digest of an address, in hex. */
  async function digestOf(email: string): Promise<string> {
    key ??= (await storedKey()) ?? (await makeKey());
    const mailbox = mailboxOf(email.toLowerCase());
    return createHmac('sha256', key)
      .update(purpose + mailbox)
      .digest('hex');
  }

  return {
    digestOf,
    /** Returns true if the owner of the mailbox has reported the client. */
    async hasReported(client: string, email: string): Promise<boolean> {
      const mailboxDigest = await digestOf(email);
      const rows = await storage.read((db) =>
        db
          .selectFrom('confirmation_reports')
          .select('client')
          .where('client', '=', client)
          .where('mailbox_digest', '=', mailboxDigest),
      );
      return rows.length > 0;
    },
  };
}

/** Number of reports about a client that no operator has seen, and the time of the last report. */
export type UnseenReports = { client: string; count: number; lastAt: string };

/** Returns the reports since a time that no operator has seen, by client. Throws `StorageUnavailable`. */
export async function unseenReports(storage: Pick<Storage, 'read'>, since: Date): Promise<UnseenReports[]> {
  const rows = await storage.read((db) =>
    db
      .selectFrom('confirmation_reports')
      .select((row) => ['client', row.fn.countAll<number>().as('rows'), row.fn.max('reported_at').as('last_at')])
      .where('reported_at', '>=', since.toISOString())
      .where('seen', '=', 0)
      .where('sandbox', '=', 0)
      .groupBy('client')
      .orderBy('client'),
  );
  return rows.map(({ client, rows: count, last_at }) => ({ client, count: Number(count), lastAt: last_at }));
}

/** Marks the reports up to a time as seen, for all operators. Returns the number of these reports. */
export async function markReportsSeen(tx: OpenTransaction, until: string): Promise<number> {
  const { numUpdatedRows } = await tx
    .updateTable('confirmation_reports')
    .set({ seen: 1 })
    .where('seen', '=', 0)
    .where('reported_at', '<=', until)
    .executeTakeFirst();
  return Number(numUpdatedRows);
}
