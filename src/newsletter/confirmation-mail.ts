/**
 * The e-mail that asks a subscriber to confirm (reference §9.4), in the operator's language. The e-mail consists of
 * settings, texts of the site and the subscriber's links, and contains nothing that a visitor typed.
 */
import { bounds } from '../forms/bounds.ts';
import type { MailContent } from '../mail/mail.ts';
import type { Render } from '../mail/messages.ts';
import { pages, pathTo, routes } from '../routes.ts';
import { fillInAll } from '../site/interpolate.ts';
import type { Words } from '../site/words.ts';
import type { SubscriberRow } from '../storage/schema.ts';
import { type Subscribers, unsubscribeUrl } from './subscribers.ts';

export type ConfirmationMailParts = {
  words: () => Words['newsletter'];
  operator: { name: string };
  /** Address of the site, without a trailing slash. */
  baseUrl: string;
};

export function confirmationMail(
  { words, operator, baseUrl }: ConfirmationMailParts,
  { confirm_token, leave_token }: Pick<SubscriberRow, 'confirm_token' | 'leave_token'>,
): MailContent {
  const leaveUrl = unsubscribeUrl(baseUrl, leave_token);
  const { subject, text } = fillInAll(words().message, {
    operator: operator.name,
    site: baseUrl,
    confirm_url: baseUrl + pathTo(routes.newsletterPage, { token: confirm_token }),
    leave_url: leaveUrl,
    privacy_url: baseUrl + pages.privacy.path,
    days: String(bounds.subscriptionLifetimeDays),
  });
  const headers = {
    // Mail programs unsubscribe by one POST to this address (RFC 8058). Mail programs can't read the address if the
    // header is folded or encoded.
    'List-Unsubscribe': { prepared: true, value: `<${leaveUrl}>` },
    'List-Unsubscribe-Post': 'List-Unsubscribe=One-Click',
  } as const;
  return { subject, text, headers };
}

/**
 * Returns the renderer of confirmations. The renderer returns undefined if no subscription of the address is pending.
 */
export function confirmationRenderer(
  parts: ConfirmationMailParts,
  { findPending }: Pick<Subscribers, 'findPending'>,
): Render {
  return async ({ address }) => {
    const row = address === null ? undefined : await findPending(address);
    return row && { ...confirmationMail(parts, row), address: row.email };
  };
}
