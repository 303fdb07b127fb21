/** Watches the rows of subscribers after every event: invariant 13. */
import type { SubscriberRow, SubscriberStatus } from '../src/storage/schema.ts';
import type { Event } from '../src/upstream/upstream.ts';
import { type Ledger, mailboxOf } from './ledger.ts';
import type { Store } from './store.ts';

type Seen = Pick<
  SubscriberRow,
  'id' | 'email' | 'status' | 'confirm_token' | 'leave_token' | 'consent_recorded_at' | 'expires_at' | 'unsubscribed_at'
>;

/** Moves that a subscriber may make. Only a new subscription reactivates somebody who unsubscribed (reference §9.1). */
const MOVES: Readonly<Record<SubscriberStatus, readonly SubscriberStatus[]>> = {
  pending: ['confirmed', 'unsubscribed'],
  confirmed: ['unsubscribed'],
  unsubscribed: ['pending'],
};

/** Returns a function that checks the committed rows. The embedded destination needs no events. */
export function watchSubscribers(store: Store, ledger: Ledger, { embedded }: { embedded: boolean }): () => void {
  const rows = new Map<string, Seen>();
  /**
   * Number of times that each subscriber became pending, by its consent. The number includes repeats of stored
   * subscriptions, which cause no further event.
   */
  const begun = new Map<string, number>();

  /** Checks that a subscriber's state and its event are written in one commit, and that each state has one event. */
  function seeEvents({ id, status, consent_recorded_at: consent }: Seen): void {
    if (status === 'pending' || embedded || ledger.erased.size > 0) return;
    const stored = store.read<{ event: string }>('select event from submissions where subscriber_id = ?', id);
    const events = (stored ?? []).map(({ event }) => JSON.parse(event) as Event);
    const ofThis = (name: string) =>
      events.filter(({ type, data }) => type === `subscriber.${name}` && data.consent_recorded_at === consent).length;
    const number = ofThis(status);
    // Stopped processes may resume at the same moment, so that several consents have one time.
    if (number === 0 || number > Math.max(1, ofThis('created'), begun.get(`${id} ${consent}`) ?? 0)) {
      ledger.violate(13, `${id} is ${status}, with ${number} events`);
    }
  }

  function seeConsent(before: Seen | undefined, { id, status, consent_recorded_at: consent }: Seen) {
    const isSame = before?.status === status && before.consent_recorded_at === consent;
    if (status !== 'pending' || isSame) return;
    begun.set(`${id} ${consent}`, (begun.get(`${id} ${consent}`) ?? 0) + 1);
  }

  function seeChange(before: Seen | undefined, after: Seen): void {
    const { id, status } = after;
    ledger.note(() => `${store.medium.writer?.name} makes subscriber ${id} ${status}`);
    const was = before?.status ?? 'unsubscribed';
    // Only the last of several commits during an open transaction is visible. A different consent means a new
    // subscription. If the new consent has the same time, the subscription has cleared `unsubscribed_at`.
    const isAnew =
      before?.consent_recorded_at !== after.consent_recorded_at ||
      (was === 'unsubscribed' && after.unsubscribed_at === null);
    if (was !== status && !MOVES[was].includes(status) && !isAnew) {
      ledger.violate(13, `${id} was ${before?.status}, and is ${status}`);
    }
    const token = status === 'confirmed' ? after.confirm_token : after.leave_token;
    if (status !== 'pending' && !ledger.clicked.has(token)) {
      ledger.violate(13, `${id} is ${status}, and nobody has pressed`);
    }
    if (status !== 'pending') ledger.answered.add(mailboxOf(after.email));
    seeEvents(after);
  }

  /**
   * Checks a deleted row. Confirmed and unsubscribed rows disappear by erasure only, pending rows not before they
   * expire.
   */
  function seeGone({ id, email, status, expires_at: expires }: Seen): void {
    ledger.answered.add(mailboxOf(email));
    if (ledger.erased.has(email)) return;
    const isOver = expires !== null && Date.parse(expires) <= store.medium.wallClock(undefined);
    if (status !== 'pending' || !(isOver || ledger.stepped)) {
      ledger.violate(13, `${id} was ${status}, and is gone`);
    }
  }

  return () => {
    const present = store.read<Seen>(
      'select id, email, status, confirm_token, leave_token, consent_recorded_at, expires_at, unsubscribed_at from subscribers',
    );
    if (present === undefined) return;
    for (const row of present) {
      const before = rows.get(row.id);
      rows.set(row.id, row);
      seeConsent(before, row);
      if (before?.status !== row.status) seeChange(before, row);
    }
    if (present.length === rows.size) return;
    const there = new Set(present.map(({ id }) => id));
    for (const row of rows.values()) {
      if (there.has(row.id)) continue;
      rows.delete(row.id);
      seeGone(row);
    }
  };
}
