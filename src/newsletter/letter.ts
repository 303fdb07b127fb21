/**
 * The message of `/api/subscribe` (spec §4.7, beyond §6), in the operator's language. It is made of settings, words
 * and the subscriber's own links: nothing that a visitor typed is in it.
 */
import { bounds } from '../forms/bounds.ts';
import type { Letter } from '../mail/mail.ts';
import type { Render } from '../mail/messages.ts';
import { pages, pathTo, routes } from '../routes.ts';
import { filled } from '../site/filled.ts';
import type { NewsletterWords } from '../site/newsletter-words.ts';
import type { SubscriberRow } from '../storage/subscriber-schema.ts';
import type { Subscribers } from './subscribers.ts';

export type LetterParts = {
  words: () => NewsletterWords;
  operator: { name: string };
  /** Without a trailing slash. */
  baseUrl: string;
};

/** Takes the tokens of a subscriber; returns what they are told. */
export function subscriberLetter(
  { words, operator, baseUrl }: LetterParts,
  { confirm_token, leave_token }: Pick<SubscriberRow, 'confirm_token' | 'leave_token'>,
): Letter {
  const leave = baseUrl + pathTo(routes.leavePage, { token: leave_token });
  const { subject, text } = filled(words().message, {
    operator: operator.name,
    site: baseUrl,
    confirm_url: baseUrl + pathTo(routes.newsletterPage, { token: confirm_token }),
    leave_url: leave,
    privacy_url: baseUrl + pages.privacy.path,
    days: String(bounds.subscriptionLifetimeDays),
  });
  return { subject, text, unsubscribeUrl: leave };
}

/** Takes what finds subscribers; who has confirmed, left, run out or was erased is told nothing. */
export function subscriberRenderer(
  parts: LetterParts,
  { findAsked }: Pick<Subscribers, 'findAsked'>,
): Render {
  return async ({ address }) => {
    const row = address === null ? undefined : await findAsked(address);
    return row && { ...subscriberLetter(parts, row), address: row.email };
  };
}
