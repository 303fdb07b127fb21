/**
 * Counts, exports and erases everything in the database about one person, by their normalized e-mail address. `npm run
 * erase` and the console use it. Local mode's message files are not included.
 */
import { countOutboxOf, eraseNoticesOf, eraseOutboxOf } from '../mail/erasure.ts';
import { subscriberOf } from '../newsletter/listing.ts';
import { countSubscribersOf, eraseSubscriberOf } from '../newsletter/subscriber-queries.ts';
import { isoTime } from '../platform/clock.ts';
import type { OpenTransaction, ReadOnly, Storage } from '../storage/database.ts';
import type { ConfirmationRow } from '../storage/schema.ts';
import { countSubmissionsOf, eraseSubmissionsOf, type PersonCounts } from '../submissions/erasure.ts';
import { jsonLineOf } from '../submissions/read/export.ts';
import { submissionPages } from '../submissions/read/list.ts';
import { endPending } from './pending.ts';

export type PersonRows = PersonCounts & {
  /** Number of pending confirmations. */
  confirmations: number;
  /** 1 if the person has subscribed to the newsletter. */
  subscribers: number;
  /** Number of messages to the person. An erasure also counts the notices about the person's submissions. */
  outbox: number;
};

/**
 * Returns the numbers of the person's rows. If there are more than `atMost` submissions, counts only the newest.
 * @throws StorageUnavailable
 */
export async function countPerson(reader: ReadOnly, email: string, atMost?: number): Promise<PersonRows> {
  return {
    ...(await countSubmissionsOf(reader, email, atMost)),
    confirmations: (await pendingOf(reader, email)).length,
    subscribers: await countSubscribersOf(reader, email),
    outbox: await countOutboxOf(reader, email),
  };
}

/** Erases the person's rows and returns their numbers. A submission whose attempt has started may still arrive. */
export async function erasePerson(tx: OpenTransaction, email: string, now: Date): Promise<PersonRows> {
  // Pending confirmations end first, so that the submission of a confirmation that was just claimed is erased below.
  const confirmations = await eraseConfirmationsOf(tx, email, now);
  const subscribers = await eraseSubscriberOf(tx, email);
  const { counts, ids } = await eraseSubmissionsOf(tx, email);
  const messages = await eraseOutboxOf(tx, email);
  const outbox = messages + (await eraseNoticesOf(tx, ids));
  await erasePagesOfLinks(tx);
  return { ...counts, confirmations, subscribers, outbox };
}

/** Erases all pages to which a sign-in link returns, because their queries can contain a search for the person. */
async function erasePagesOfLinks(tx: OpenTransaction): Promise<void> {
  await tx.updateTable('messages').set({ about: null }).where('kind', '=', 'sign_in').execute();
  await tx.updateTable('operator_links').set({ page: null }).where('page', 'is not', null).execute();
}

/**
 * Expires pending confirmations, deletes their fields and their queued codes, and returns the number of confirmations.
 * A confirmation that the person confirms at the same moment is either sent or ended.
 */
async function eraseConfirmationsOf(tx: OpenTransaction, email: string, now: Date): Promise<number> {
  const found = await tx
    .selectFrom('confirmations')
    .select(['id', 'code_number'])
    .where('email', '=', email)
    // A report locks the rows in the same order.
    .orderBy('id')
    .execute();
  for (const { id, code_number } of found) {
    await endPending(tx, id, 'expired', isoTime(now.getTime()));
    const codes = Array.from({ length: code_number }, (_, index) => `${id}.${index + 1}`);
    if (codes.length === 0) continue;
    await tx.deleteFrom('messages').where('kind', '=', 'code').where('key', 'in', codes).execute();
  }
  // This update also covers confirmations whose execution was deleted by retention.
  await tx.updateTable('confirmations').set({ fields: null, email: null }).where('email', '=', email).execute();
  return found.length;
}

export type PendingQuestion = Pick<
  ConfirmationRow,
  'id' | 'client' | 'action' | 'destination' | 'created_at' | 'expires_at' | 'fields'
>;

/** Returns up to `limit` pending confirmations of one person, the oldest first. */
export function pendingOf(storage: Pick<Storage, 'read'>, email: string, limit?: number): Promise<PendingQuestion[]> {
  return storage.read((db) => {
    const pending = db
      .selectFrom('confirmations')
      .select(['id', 'client', 'action', 'destination', 'created_at', 'expires_at', 'fields'])
      .where('email', '=', email)
      .orderBy('id');
    return limit === undefined ? pending : pending.limit(limit);
  });
}

/**
 * Yields all data of the person as JSON lines, in groups with their count: submissions, pending confirmations with
 * their fields, the subscriber, and the number of messages.
 * @throws StorageUnavailable
 */
export async function* exportPerson(reader: ReadOnly, email: string): AsyncGenerator<{ count: number; lines: string }> {
  const one = (line: object) => ({ count: 1, lines: `${JSON.stringify(line)}\n` });
  for await (const page of submissionPages(reader, { email })) {
    yield { count: page.length, lines: page.map(jsonLineOf).join('') };
  }
  for (const { fields, ...asked } of await pendingOf(reader, email)) {
    yield one({ type: 'confirmation.pending', ...asked, fields: JSON.parse(fields ?? '{}') });
  }
  const subscriber = await subscriberOf(reader, email);
  if (subscriber !== undefined) yield one({ type: 'subscriber', ...subscriber });
  const count = await countOutboxOf(reader, email);
  if (count > 0) yield one({ type: 'messages', address: email, count });
}
