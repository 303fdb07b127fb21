/** The pages of a subscriber's two links (reference §9.7). These pages have no script. */
import { newsletterProblems } from '../failures/page-problems.ts';
import type { NewsletterRefusal } from '../failures/refusals.ts';
import { forms } from '../forms/catalog.ts';
import { maskedAddress } from '../forms/fields.ts';
import { pathsOfPage, pathTo, routes } from '../routes.ts';
import { shortWait } from '../site/form-words.ts';
import { fillInIsolated } from '../site/interpolate.ts';
import { type Frame, renderLayout } from '../site/layout.ts';
import { renderTemplate } from '../site/templates.ts';
import type { SubscriberRow } from '../storage/schema.ts';

const NEWSLETTER_PATH = pathsOfPage(forms.newsletter.name).path;

export type PageParts = {
  frame(): Frame;
  operator: { name: string };
};

type Shown = {
  title: string;
  text: string;
  button?: string;
  action?: string;
  note?: string;
  link?: { href: string; label: string };
};

/** Returns the page of the confirmation link, for a subscriber of any status. */
export function confirmPage(parts: PageParts, row: SubscriberRow): string {
  const { newsletter, lang } = parts.frame().words;
  const values = {
    operator: parts.operator.name,
    address: maskedAddress(row.email),
    until: row.expires_at === null ? '' : dayOf(row.expires_at, lang),
  };
  switch (row.status) {
    case 'pending': {
      const { until: note, ...shown } = fillInIsolated(newsletter.confirm, values, lang);
      const action = pathTo(routes.confirmSubscription, { token: row.confirm_token });
      return layout(parts, { ...shown, action, note });
    }
    case 'confirmed':
      return layout(parts, fillInIsolated(newsletter.confirmed, values, lang));
    case 'unsubscribed': {
      const { again: label, ...shown } = fillInIsolated(newsletter.left, values, lang);
      return layout(parts, { ...shown, link: { href: NEWSLETTER_PATH, label } });
    }
  }
}

/**
 * Returns the page of the unsubscribe link (`leave`), or the page after its button (`leftNow`). Both pages are the same
 * for every token, so that they don't reveal whether the subscriber exists. The button posts to the same address.
 */
export function unsubscribePage(parts: PageParts, page: 'leave' | 'leftNow'): string {
  const { newsletter, lang } = parts.frame().words;
  return layout(parts, fillInIsolated(newsletter[page], { operator: parts.operator.name }, lang));
}

/** Returns the page of a link that had no effect. The page is the same for every unknown link. */
export function refusedPage(parts: PageParts, refusal: NewsletterRefusal): { status: number; html: string } {
  const { newsletter, lang } = parts.frame().words;
  const { status } = newsletterProblems[refusal.kind];
  const wait = 'retryAfterSeconds' in refusal ? shortWait(refusal.retryAfterSeconds, lang) : '';
  const shown = fillInIsolated(newsletter.refused[refusal.kind], { wait }, lang);
  const link = { href: NEWSLETTER_PATH, label: newsletter.left.again };
  const isUnknown = refusal.kind === 'unknownSubscription';
  return { status, html: layout(parts, isUnknown ? { ...shown, link } : shown) };
}

function layout(parts: PageParts, shown: Shown): string {
  const main = renderTemplate('newsletter', shown);
  return renderLayout({ title: shown.title, operatorName: parts.operator.name, main, noindex: true }, parts.frame());
}

function dayOf(iso: string, lang: string): string {
  const format = { dateStyle: 'long', timeZone: 'UTC' } as const;
  return new Intl.DateTimeFormat(lang, format).format(new Date(iso));
}
