/** The pages of a subscriber's two links (beyond §6): rendered by the site's own parts, without a script. */
import type { NewsletterRefusal } from '../failures/refusals.ts';
import { renderForPage } from '../failures/render.ts';
import { forms } from '../forms/catalog.ts';
import { maskedAddress } from '../forms/masked-address.ts';
import { pathsOfPage, pathTo, routes } from '../routes.ts';
import { filledIn } from '../site/filled.ts';
import { shortWait } from '../site/form-words.ts';
import { type Frame, renderLayout } from '../site/layout.ts';
import { renderTemplate } from '../site/templates.ts';
import type { SubscriberRow } from '../storage/subscriber-schema.ts';

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

/** Takes one of any state; returns the whole HTML document. */
export function confirmingPage(parts: PageParts, row: SubscriberRow): string {
  const { newsletter, lang } = parts.frame().words;
  const values = {
    operator: parts.operator.name,
    address: maskedAddress(row.email),
    until: row.expires_at === null ? '' : dayOf(row.expires_at, lang),
  };
  switch (row.status) {
    case 'pending': {
      const { title, text, button, until } = filledIn(newsletter.confirm, values, lang);
      const action = pathTo(routes.confirmSubscription, { token: row.confirm_token });
      return layout(parts, { title, text, button, action, note: until });
    }
    case 'confirmed':
      return layout(parts, filledIn(newsletter.confirmed, values, lang));
    case 'unsubscribed': {
      const { title, text, again } = filledIn(newsletter.left, values, lang);
      const href = pathsOfPage(forms.newsletter.name).path;
      return layout(parts, { title, text, link: { href, label: again } });
    }
  }
}

/** The same bytes for every token: nobody learns whether there is such a subscriber. It posts to where it stands. */
export function leavingPage(parts: PageParts): string {
  const { newsletter, lang } = parts.frame().words;
  return layout(parts, filledIn(newsletter.leave, { operator: parts.operator.name }, lang));
}

/** After the press; the same for every token. */
export function leftPage(parts: PageParts): string {
  const { newsletter, lang } = parts.frame().words;
  return layout(parts, filledIn(newsletter.leftNow, { operator: parts.operator.name }, lang));
}

/** What is said where a link did nothing: of a link that is none always the same bytes. */
export function refusedPage(
  parts: PageParts,
  refusal: NewsletterRefusal,
): { status: number; html: string } {
  const { newsletter, lang } = parts.frame().words;
  const { status } = renderForPage(refusal);
  const wait = 'retryAfterSeconds' in refusal ? shortWait(refusal.retryAfterSeconds, lang) : '';
  const shown = filledIn(newsletter.refused[refusal.kind], { wait }, lang);
  const path = pathsOfPage(forms.newsletter.name).path;
  const link = { href: path, label: newsletter.left.again };
  const isUnknown = refusal.kind === 'unknownSubscription';
  return { status, html: layout(parts, isUnknown ? { ...shown, link } : shown) };
}

function layout(parts: PageParts, shown: Shown): string {
  const main = renderTemplate('newsletter', shown);
  const { title } = shown;
  return renderLayout(
    { title, operatorName: parts.operator.name, main, noindex: true },
    parts.frame(),
  );
}

function dayOf(iso: string, lang: string): string {
  const format = { dateStyle: 'long', timeZone: 'UTC' } as const;
  return new Intl.DateTimeFormat(lang, format).format(new Date(iso));
}
