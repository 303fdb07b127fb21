/** The rows of subscribers, watched after every event: promise 13. */
import type { SubscriberRow, SubscriberStatus } from '../src/storage/subscriber-schema.ts';
import type { Event } from '../src/upstream/upstream.ts';
import { type Ledger, mailboxOf } from './ledger.ts';
import type { Store } from './store.ts';

type Seen = Pick<
  SubscriberRow,
  | 'id'
  | 'email'
  | 'status'
  | 'confirm_token'
  | 'leave_token'
  | 'consent_recorded_at'
  | 'expires_at'
  | 'unsubscribed_at'
>;

/** A new subscription alone brings back who has left (beyond §6). */
const MOVES: Readonly<Record<SubscriberStatus, readonly SubscriberStatus[]>> = {
  pending: ['confirmed', 'unsubscribed'],
  confirmed: ['unsubscribed'],
  unsubscribed: ['pending'],
};

/** Takes whether the destination is embedded: then there is nobody to tell. Returns what looks at what is committed. */
export function watchSubscribers(
  store: Store,
  ledger: Ledger,
  { embedded }: { embedded: boolean },
): () => void {
  const rows = new Map<string, Seen>();
  /** How often each began to wait, by its consent: by what was kept before as well, which has no event of its own. */
  const begun = new Map<string, number>();

  /** State and event are one commit, and there is one event for each. */
  function seeEvents({ id, status, consent_recorded_at: consent }: Seen): void {
    if (status === 'pending' || embedded || ledger.erased.size > 0) return;
    const kept = store.read<{ event: string }>(
      'select event from submissions where subscriber_id = ?',
      id,
    );
    const events = (kept ?? []).map(({ event }) => JSON.parse(event) as Event);
    const ofThis = (name: string) =>
      events.filter(
        ({ type, data }) => type === `subscriber.${name}` && data.consent_recorded_at === consent,
      ).length;
    const told = ofThis(status);
    // Processes that were stopped go on in one moment: so many consents may be of that.
    if (told === 0 || told > Math.max(1, ofThis('created'), begun.get(`${id} ${consent}`) ?? 0)) {
      ledger.violate(13, `${id} is ${status}, with ${told} events`);
    }
  }

  function seeConsent(
    before: Seen | undefined,
    { id, status, consent_recorded_at: consent }: Seen,
  ) {
    const isSame = before?.status === status && before.consent_recorded_at === consent;
    if (status !== 'pending' || isSame) return;
    begun.set(`${id} ${consent}`, (begun.get(`${id} ${consent}`) ?? 0) + 1);
  }

  function seeChange(before: Seen | undefined, after: Seen): void {
    const { id, status } = after;
    ledger.note(() => `${store.medium.writer?.name} makes subscriber ${id} ${status}`);
    const was = before?.status ?? 'unsubscribed';
    // Of commits beside an open transaction the last alone is seen: a new consent is a new subscription.
    // It may be of the same moment; then it has taken away when they left.
    const isAnew =
      before?.consent_recorded_at !== after.consent_recorded_at ||
      (was === 'unsubscribed' && after.unsubscribed_at === null);
    if (was !== status && !MOVES[was].includes(status) && !isAnew) {
      ledger.violate(13, `${id} was ${before?.status}, and is ${status}`);
    }
    const token = status === 'confirmed' ? after.confirm_token : after.leave_token;
    if (status !== 'pending' && !ledger.pressed.has(token)) {
      ledger.violate(13, `${id} is ${status}, and nobody has pressed`);
    }
    if (status !== 'pending') ledger.answered.add(mailboxOf(after.email));
    seeEvents(after);
  }

  /** Who has confirmed or left goes by erasure alone, and nobody before their time. */
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
