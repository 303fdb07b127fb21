/**
 * Confirms and unsubscribes by the links of a subscriber (reference §9.3). Each of these changes is one conditional
 * update. The event of a change is a separate submission in the same commit. The first attempt runs while the page is
 * answered, so no link waits for the upstream. If the process dies meanwhile, recovery finds the expired lease and
 * redelivery sends the event.
 */

import { forms } from '../forms/catalog.ts';
import { type Clock, isoTime } from '../platform/clock.ts';
import { openInFlight } from '../platform/in-flight.ts';
import type { Log } from '../platform/log.ts';
import type { Metrics } from '../platform/metrics.ts';
import type { NewId } from '../platform/random.ts';
import type { OpenTransaction, Storage } from '../storage/database.ts';
import type { SubscriberRow } from '../storage/schema.ts';
import { completeAttempt, sendAttempt } from '../submissions/attempts.ts';
import type { LeadStore, LeasedAttempt } from '../submissions/lead-store.ts';
import { firstAttempt } from '../submissions/persist.ts';
import { type NewSubmission, newSubmission } from '../submissions/submission.ts';
import { nextEventTime, subscriberById } from './subscriber-queries.ts';
import type { Subscribers } from './subscribers.ts';

export type SubscriptionLinksParts = {
  storage: Storage;
  clock: Clock;
  newId: NewId;
  log: Log;
  metrics: Pick<Metrics, 'countSubscriber'>;
  subscribers: Subscribers;
  submissions: LeadStore;
};

export type SubscriptionLinks = ReturnType<typeof openSubscriptionLinks>;

type NewStatus = 'confirmed' | 'unsubscribed';

export function openSubscriptionLinks(parts: SubscriptionLinksParts) {
  const { storage, clock, newId, log, metrics, subscribers, submissions } = parts;
  const { queries } = subscribers;
  const underWay = openInFlight<Promise<void>>();

  async function followLink(to: NewStatus, token: string): Promise<void> {
    const { findByConfirmToken, findByLeaveToken } = subscribers;
    const found = await (to === 'confirmed' ? findByConfirmToken : findByLeaveToken)(token);
    // A link without effect waits for no lock, so an expired link takes as long as one that never existed.
    if (found === undefined || found.status === to || found.status === 'unsubscribed') return;
    if (submissions.pending.hasPendingWrites()) await submissions.pending.flush();
    const eventId = newId();
    const leasedAt = clock.monotonic();
    const changed = await storage.write((tx) => change(tx, to, token, found.id, eventId));
    if (changed === undefined) return;
    metrics.countSubscriber(to);
    log.info({ subscriberId: found.id, submissionId: changed.event?.id, to }, 'subscriber status changed');
    if (changed.event === undefined) return;
    const sending = send(firstAttempt(changed.event, leasedAt));
    void sending.finally(underWay.add(sending));
  }

  /** Changes the status and stores its event, or does neither and returns undefined. */
  async function change(tx: OpenTransaction, to: NewStatus, token: string, subscriberId: string, eventId: string) {
    // The lock comes first, so that another instance changes this subscriber either before or after this change.
    const before = await subscriberById(tx, subscriberId).$call(storage.dialect.forUpdate).executeTakeFirst();
    if (before === undefined) return undefined;
    const now = isoTime(clock.now().getTime());
    const at = await nextEventTime(tx, before, now);
    const update = to === 'confirmed' ? queries.confirm : queries.unsubscribe;
    if ((await tx.change(update({ token, now, at }))) === 0) return undefined;
    // The embedded inbox gets no event.
    if (submissions.upstream?.embedded) return { event: undefined };
    const row = await subscriberById(tx, subscriberId).executeTakeFirstOrThrow();
    const event = eventSubmission(row, to, eventId, at);
    await tx.change(submissions.queries.insert(event));
    return { event };
  }

  function eventSubmission(row: SubscriberRow, to: NewStatus, id: string, at: string): NewSubmission {
    const { email, contractor, confirmed_at, unsubscribed_at } = row;
    const submission = {
      id,
      form: forms.newsletter,
      fields: { email, contractor },
      origin: 'browser' as const,
      client: null,
      consentRecordedAt: row.consent_recorded_at,
      subscriber: {
        id: row.id,
        event: `subscriber.${to}` as const,
        data: { ...subscribers.dataOf(row), confirmed_at, unsubscribed_at },
      },
    };
    // The digest of the fields recognizes a form that a person sends again. An event has none, because nobody sends it.
    return { ...newSubmission(submission, undefined, at), fields_digest: null };
  }

  /** Sends the event. Never throws. A failed write is repeated later, or recovery finds the row. */
  async function send(leased: LeasedAttempt): Promise<void> {
    const attempted = submissions.upstream === undefined ? unconfigured(clock) : await sendAttempt(submissions, leased);
    try {
      await completeAttempt(submissions, leased, attempted);
    } catch (error) {
      log.error({ submissionId: leased.id, err: error }, 'attempt outcome not stored yet');
    }
  }

  return {
    /**
     * Confirms by the token of a confirmation link. An invalid or repeated token has no effect. Throws
     * `StorageUnavailable`.
     */
    confirm: (token: string) => followLink('confirmed', token),
    /** Unsubscribes by the token of an unsubscribe link. An invalid or repeated token has no effect. */
    unsubscribe: (token: string) => followLink('unsubscribed', token),
    /** Waits for the events under way. */
    async close(): Promise<void> {
      await Promise.all(underWay.all());
    },
  };
}

/**
 * Returns the attempt that is recorded while submissions are not configured. Like other submissions, the event then
 * waits.
 */
function unconfigured(clock: Clock) {
  const at = isoTime(clock.now().getTime());
  return {
    outcome: { kind: 'unconfirmed', reason: 'No upstream is configured.', unsent: true },
    attempt: { at, ms: 0, outcome: 'unconfirmed', by: 'first', http_status: null },
  } as const;
}
