/** Opens the newsletter modules of a simulated process: rows, message and its two links (reference §9). */

import {
  openSubscriptionLinks,
  type SubscriptionLinks,
  type SubscriptionLinksParts,
} from '../src/newsletter/confirm-and-unsubscribe.ts';
import { confirmationRenderer } from '../src/newsletter/confirmation-mail.ts';
import { openSubscribers, type Subscribers } from '../src/newsletter/subscribers.ts';
import { openNewsletterSweep } from '../src/newsletter/sweep.ts';
import { noMetrics } from '../src/platform/metrics.ts';
import { defaultWords } from '../src/site/words.ts';

const words = { words: () => defaultWords().newsletter, operator: { name: 'Operator' }, baseUrl: '' };

type Parts = Pick<SubscriptionLinksParts, 'storage' | 'clock' | 'newId'>;

/** Opens the rows. A token derives from an id, because nobody guesses tokens in a simulation. */
export function openSubscribing({ storage, clock, newId }: Parts) {
  const newToken = () => newId().replaceAll('-', '').slice(-22);
  const subscribers = openSubscribers({ storage, clock, newId, newToken, baseUrl: '' });
  return { subscribers, render: confirmationRenderer(words, subscribers) };
}

/** Opens the handlers of the links, and the sweep. */
export function openLinks(
  parts: Parts & Pick<SubscriptionLinksParts, 'log' | 'submissions'> & { subscribers: Subscribers },
): {
  subscriptionLinks: SubscriptionLinks;
  sweep: ReturnType<typeof openNewsletterSweep>;
} {
  const metrics = noMetrics;
  return {
    subscriptionLinks: openSubscriptionLinks({ ...parts, metrics }),
    sweep: openNewsletterSweep({ ...parts, metrics }),
  };
}
