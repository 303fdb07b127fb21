/**
 * Everything that is kept of one person in the database, by their normalized e-mail address: what `npm run erase`
 * and the console count, hand out and erase, all but local mode's files of messages.
 */
import { countOutboxOf, eraseNoticesOf, eraseOutboxOf } from '../mail/erasure.ts';
import { countSubscribersOf, eraseSubscriberOf } from '../newsletter/erasure.ts';
import type { ConfirmationRow } from '../storage/confirmation-schema.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import {
  countSubmissionsOf,
  eraseSubmissionsOf,
  type PersonCounts,
} from '../submissions/erasure.ts';
import type { Reading } from '../submissions/pieces.ts';
import { countConfirmationsOf, eraseConfirmationsOf } from './erasure.ts';

export type PersonRows = PersonCounts & {
  /** What they were asked, and have not answered. */
  confirmations: number;
  /** One, where they asked for the newsletter. */
  subscribers: number;
  /** Messages to them, and when it is erased notices of what they sent. */
  outbox: number;
};

/** How much there is; of more than `atMost` submissions, of the newest. Throws `StorageUnavailable`. */
export async function countPerson(
  reading: Reading,
  email: string,
  atMost?: number,
): Promise<PersonRows> {
  const { storage } = reading;
  return {
    ...(await countSubmissionsOf(reading, email, atMost)),
    confirmations: await countConfirmationsOf(storage, email),
    subscribers: await countSubscribersOf(storage, email),
    outbox: await countOutboxOf(storage, email),
  };
}

/** Erases it in a transaction that is open; returns how much there was. What is being sent may still arrive. */
export async function erasePerson(
  storage: Storage,
  tx: OpenTransaction,
  email: string,
  now: Date,
): Promise<PersonRows> {
  // First what may still be pressed: a submission that is made of it meanwhile is erased below.
  const confirmations = await eraseConfirmationsOf(storage, tx, email, now);
  const subscribers = await eraseSubscriberOf(tx, email);
  const { counts, ids } = await eraseSubmissionsOf(tx, email);
  const messages = await eraseOutboxOf(tx, email);
  const outbox = messages + (await eraseNoticesOf(tx, ids));
  return { ...counts, confirmations, subscribers, outbox };
}

export type PendingQuestion = Pick<
  ConfirmationRow,
  'id' | 'client' | 'action' | 'destination' | 'created_at' | 'expires_at' | 'fields'
>;

/** What they were asked and have not answered, the oldest first: up to `limit`. */
export function pendingOf(
  storage: Storage,
  email: string,
  limit: number,
): Promise<PendingQuestion[]> {
  return storage.read((db) =>
    db
      .selectFrom('confirmations')
      .select(['id', 'client', 'action', 'destination', 'created_at', 'expires_at', 'fields'])
      .where('email', '=', email)
      .orderBy('id')
      .limit(limit),
  );
}
