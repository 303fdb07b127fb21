/** What subscribers have in a simulated process: their rows, their message, their two links (beyond §6). */
import { subscriberRenderer } from '../src/newsletter/letter.ts';
import { openPresses, type Presses, type PressParts } from '../src/newsletter/press.ts';
import { openSubscribers, type Subscribers } from '../src/newsletter/subscribers.ts';
import { openNewsletterSweep } from '../src/newsletter/sweep.ts';
import { noMetrics } from '../src/operations/metrics.ts';
import { ourNewsletterWords } from '../src/site/newsletter-words.ts';

const words = { words: () => ourNewsletterWords, operator: { name: 'Operator' }, baseUrl: '' };

type Parts = Pick<PressParts, 'storage' | 'clock' | 'newId'>;

/** Opens the rows; a token is as new as an id, and nobody guesses here. */
export function openSubscribing({ storage, clock, newId }: Parts) {
  const newToken = () => newId().replaceAll('-', '').slice(-22);
  const subscribers = openSubscribers({ storage, clock, newId, newToken, baseUrl: '' });
  return { subscribers, render: subscriberRenderer(words, subscribers) };
}

/** Opens what presses do, and what time does. */
export function openLinks(
  parts: Parts & Pick<PressParts, 'log' | 'submissions'> & { subscribers: Subscribers },
): { presses: Presses; sweep: ReturnType<typeof openNewsletterSweep> } {
  const metrics = noMetrics;
  return {
    presses: openPresses({ ...parts, metrics }),
    sweep: openNewsletterSweep({ ...parts, metrics }),
  };
}
