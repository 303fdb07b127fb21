/** What is told of an attempt that has ended: messages in the commit that ends it, and alerts once it is written. */
import type { Alongside, Ended } from '../submissions/settling.ts';
import type { Alerts } from './alerts.ts';
import type { Notices } from './notices.ts';

/**
 * Takes the notices, and what is written of a subscription; returns what `openSubmissions` asks for: a subscriber's
 * message, and the operator's notice of a lead whose first attempt has ended (beyond §2, §6).
 */
export function messagesAlongside(
  notices: Notices,
  ofSubscription: (ended: Ended) => readonly Alongside[],
): (ended: Ended) => readonly Alongside[] {
  return (ended) => {
    const { id, form, by } = ended;
    const notice = by === 'first' ? notices.of({ id, form, origin: 'browser' }) : [];
    return [...notice, ...ofSubscription(ended)];
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
