/** The part of the failure catalogue that is about a subscriber's two links (beyond §6): see `catalogue.ts`. */
import { on } from './problem.ts';

const confirming = on(['newsletterPage', 'confirmSubscription'], 'beyond §6');

export const newsletterProblems = {
  newsletterTooOften: confirming(429, 'That was a little too often.', {
    page: 'Nothing has changed. Wait {wait}, then open the link again.',
  }),
  unknownSubscription: confirming(404, 'There is no subscription to confirm at this address.', {
    page: 'The link may be incomplete, or too old. If you still want updates, subscribe again: you get a new one.',
  }),
  newsletterUnknown: on(['newsletterPage', 'confirmSubscription', 'leaveNewsletter'], 'beyond §6')(
    503,
    'This can’t be done at the moment.',
    {
      page: 'Wait {wait}, then open the link again, and press once more.',
    },
  ),
} as const;
