/**
 * What a subscriber reads (beyond §6): the message, the page of each of its two links, and what is said where a link
 * does nothing. `content/words.yaml` of an operator replaces any.
 */
import { newsletterProblems } from '../failures/newsletter-problems.ts';

const refusedAs = (kind: keyof typeof newsletterProblems) => {
  const { sentence, next } = newsletterProblems[kind];
  return { title: sentence, text: next.page ?? '' };
};

/** What the text of the message must say, in whatever language. */
export const LINKS = ['{confirm_url}', '{leave_url}'] as const;

/**
 * Words in braces are replaced: `{operator}`, `{address}` (masked), `{days}`, `{until}`, `{wait}`; in the message
 * `{site}`, `{privacy_url}` and its two links.
 */
export const ourNewsletterWords = {
  message: {
    subject: 'Please confirm your subscription to updates from {operator}',
    text: `Hello,

this address was entered on our site, with consent to receive updates
from {operator}:
{site}

If that was you, confirm it on this page:
{confirm_url}

If it was not you, do nothing: somebody entered your address, perhaps by
mistake. Without your confirmation it is erased after {days} days. You can
also leave at once, now or at any time:
{leave_url}

What we keep and for how long:
{privacy_url}

This message was sent automatically, at most once in 24 hours.

{operator}
`,
  },
  confirm: {
    title: 'Confirm your subscription',
    text: 'Updates from {operator} go to {address} once you have pressed this.',
    button: 'Yes, send me updates',
    until: 'If you did not ask for them, do nothing: the address is erased after {until}.',
  },
  confirmed: {
    title: 'You are subscribed',
    text: 'Updates from {operator} go to {address}. You can leave at any time: each of them has a link for it, and so has the message that brought you here.',
  },
  left: {
    title: 'You have left',
    text: 'No updates from {operator} go to {address}. To have them again, subscribe again.',
    again: 'To the newsletter',
  },
  leave: {
    title: 'Leave the newsletter?',
    text: 'Press once, and no more updates from {operator} go to the address that this link was made for.',
    button: 'Leave',
  },
  leftNow: {
    title: 'You have left',
    text: 'No more updates from {operator} go to that address. One that was already under way may still arrive.',
  },
  refused: {
    newsletterTooOften: refusedAs('newsletterTooOften'),
    unknownSubscription: refusedAs('unknownSubscription'),
    newsletterUnknown: refusedAs('newsletterUnknown'),
  },
};

export type NewsletterWords = typeof ourNewsletterWords;
