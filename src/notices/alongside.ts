/** What is told of an attempt that has ended: messages in the commit that ends it, and alerts once it is written. */
import type { Outbox } from '../mail/outbox.ts';
import type { Change } from '../storage/database.ts';
import type { Ended } from '../submissions/settling.ts';
import { recordsConsent } from '../submissions/submission.ts';
import type { Alerts } from './alerts.ts';
import type { Notices } from './notices.ts';

/**
 * Takes the outbox, where mail is configured, and the notices; returns what `openSubmissions` asks for: a new
 * subscriber's confirmation, and the operator's notice of a lead whose first attempt has ended (beyond §2).
 */
export function messagesAlongside(
  outbox: Pick<Outbox, 'messageTo'> | undefined,
  notices: Notices,
): (ended: Ended) => Change[] {
  return ({ id, form, email, event, by, outcome }) => {
    const notice = by === 'first' ? notices.of({ id, form, origin: 'browser' }) : [];
    if (outbox === undefined || form !== 'newsletter' || email === null) return notice;
    if (outcome.kind !== 'confirmed' || !recordsConsent(event)) return notice;
    // Who was on the list has had one; a later attempt may have met what our own first one left there.
    return outcome.known && by === 'first' ? notice : [...notice, outbox.messageTo(email)];
  };
}

/** Takes the alerts; returns what is told of the end of an attempt. */
export function alertsAfterwards(
  alerts: Pick<Alerts, 'attemptConfirmed' | 'firstAttemptFailed' | 'givenUp'>,
): (ended: Pick<Ended, 'by' | 'outcome' | 'next'>) => void {
  return ({ by, outcome, next }) => {
    if (outcome.kind === 'confirmed') alerts.attemptConfirmed();
    else if (by === 'first') alerts.firstAttemptFailed();
    else if (next.kind === 'undelivered') alerts.givenUp();
  };
}
