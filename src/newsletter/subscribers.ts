/**
 * The subscriptions to the newsletter (reference §9.1): `pending`, then `confirmed`, then `unsubscribed`.
 *
 * 1. There is one row for an address. The commit that stores the submission inserts or renews it. The commit that ends
 *    the attempt adds the message.
 * 2. The links of a row stay the same if a person unsubscribes and subscribes again. Everyone who got the message or
 *    the events has these links. A link of a pending row expires after seven days, even if the row is deleted later.
 * 3. Confirming and unsubscribing are one conditional update each. Their event is a submission in the same commit, so
 *    each has exactly one event, and redelivery sends it if the process dies (`confirm-and-unsubscribe.ts`).
 */

import { bounds } from '../forms/bounds.ts';
import type { Outbox } from '../mail/outbox.ts';
import type { Clock } from '../platform/clock.ts';
import type { NewId } from '../platform/random.ts';
import { pathTo, routes } from '../routes.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { SubscriberRow } from '../storage/schema.ts';
import type { CompletedAttempt, Message } from '../submissions/lead-store.ts';
import { isSubscription, type Submission } from '../submissions/submission.ts';
import type { SubscriberData } from '../upstream/upstream.ts';
import { nextEventTime, prepareSubscriberQueries, subscriberByEmail, subscriberById } from './subscriber-queries.ts';

const LIFETIME_MS = bounds.subscriptionLifetimeDays * 86_400_000;

/** 128 random bits. The last of the 22 characters of base64url contains two of them, so it is never `-` or `_`. */
export const TOKEN_BYTES = 16;
const TOKEN = /^[A-Za-z0-9_-]{22}$/;

const NEVER = { consent_recorded_at: '', confirmed_at: null, unsubscribed_at: null };

/** Returns the address where a subscriber unsubscribes. `baseUrl` has no trailing slash. */
export function unsubscribeUrl(baseUrl: string, leaveToken: string): string {
  return baseUrl + pathTo(routes.leavePage, { token: leaveToken });
}

export type SubscribersParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  /** Returns 128 random bits as base64url. */
  newToken(): string;
  /** Address of the site, without a trailing slash. */
  baseUrl: string;
};

export type Subscribers = ReturnType<typeof openSubscribers>;

/** Opens the subscribers, whose functions throw `StorageUnavailable`. */
export function openSubscribers(parts: SubscribersParts) {
  const { storage, clock, newId, newToken, baseUrl } = parts;
  const queries = prepareSubscriberQueries(storage);

  const isValid = ({ expires_at }: SubscriberRow) => expires_at === null || clock.now().toISOString() < expires_at;

  async function findBy(find: typeof queries.byLeaveToken, token: string) {
    if (!TOKEN.test(token)) return undefined;
    const [row] = await storage.read(find({ token }));
    return row !== undefined && isValid(row) ? row : undefined;
  }

  /** Returns the data of a subscriber's row that an event contains. */
  const dataOf = ({ status, leave_token }: Pick<SubscriberRow, 'status' | 'leave_token'>): SubscriberData => ({
    status,
    unsubscribe_url: unsubscribeUrl(baseUrl, leave_token),
  });

  return {
    queries,
    dataOf,

    /**
     * Returns the function that writes the subscriber of a submission. This function returns the submission with the
     * subscriber's data, and the time of the submission's event.
     */
    join(submission: Submission): (tx: OpenTransaction) => Promise<{ submission: Submission; at: string }> {
      const { email = '', contractor = '' } = submission.fields;
      const now = clock.now();
      const subscribed = {
        id: newId(),
        email,
        contractor,
        made_by: submission.id,
        confirm_token: newToken(),
        leave_token: newToken(),
        consent_recorded_at: submission.consentRecordedAt ?? now.toISOString(),
        now: now.toISOString(),
        expires_at: new Date(now.getTime() + LIFETIME_MS).toISOString(),
      };
      return async (tx) => {
        // A repeated commit must not renew the subscription of a person who has unsubscribed meanwhile.
        const stored = await tx
          .selectFrom('submissions')
          .select('id')
          .where('id', '=', submission.id)
          .executeTakeFirst();
        let at = subscribed.now;
        if (stored === undefined) {
          const before = await subscriberByEmail(tx, email).$call(storage.dialect.forUpdate).executeTakeFirst();
          // A new address has no events. The query runs as well, so that a new address takes as long as a recorded
          // address.
          at = await nextEventTime(tx, before ?? { ...NEVER, id: subscribed.id }, at);
          await tx.change(queries.subscribe(subscribed));
        }
        const row = await subscriberByEmail(tx, email).executeTakeFirstOrThrow();
        const subscriber = { id: row.id, event: 'subscriber.created', data: dataOf(row) } as const;
        return { submission: { ...submission, subscriber }, at };
      };
    },

    /**
     * Returns the confirmation message for the commit that ends an attempt. The list is empty for other submissions.
     */
    messageOf(
      { id, event, subscriber_id, by, outcome }: CompletedAttempt,
      outbox: Pick<Outbox, 'messageTo'>,
    ): readonly Message[] {
      const hasArrived = outcome.kind === 'confirmed';
      if (subscriber_id === null || !hasArrived || !isSubscription(event)) return [];
      const addMessage = async (tx: OpenTransaction) => {
        const row = await subscriberById(tx, subscriber_id).executeTakeFirst();
        if (row?.status !== 'pending') return;
        // The upstream knew the address before this service did. In a later attempt, the upstream may know the address
        // from our first attempt.
        if (outcome.known && by === 'first' && row.made_by === id) return;
        await tx.change(outbox.messageTo(row.email));
      };
      return [addMessage];
    },

    /** Returns the subscriber with a pending confirmation, or undefined. */
    async findPending(email: string): Promise<SubscriberRow | undefined> {
      const [row] = await storage.read(queries.byEmail({ email }));
      return row?.status === 'pending' && isValid(row) ? row : undefined;
    },

    /**
     * Returns the subscriber of a link. Returns undefined if the link is invalid or expired, as does
     * `findByLeaveToken`.
     */
    findByConfirmToken: (token: string) => findBy(queries.byConfirmToken, token),
    findByLeaveToken: (token: string) => findBy(queries.byLeaveToken, token),
  };
}
