/**
 * Fills in the placeholders of pages, such as `{{operator}}`, and selects their conditional parts. Values are escaped
 * for HTML or Markdown, so a name is never markup.
 */

import { CONFIRMATION_STATEMENT } from '../actions/preview.ts';
import { bounds } from '../forms/bounds.ts';
import { type Form, forms } from '../forms/catalog.ts';
import { pages } from '../routes.ts';
import type { Settings } from '../settings/settings.ts';
import type { ContractorFacts } from './contractor.ts';
import { icons } from './icons.ts';
import { contactHref, escapeHtml, escapeMarkdown, hasOtherDirection, isolated } from './interpolate.ts';
import { renderTemplate } from './templates.ts';
import { defaultWords, type Words } from './words.ts';

export type SiteSettings = ContractorFacts &
  Pick<Settings, 'mode' | 'mcp' | 'oauth' | 'upstream' | 'mail' | 'previewSigningKeys'> & {
    baseUrl: string;
    operator: { name: string; contact: string | undefined };
    contractor: { id: string; name: string } | undefined;
    receiptRetentionDays: number;
    submissionRetentionDays: number;
  };

export type Configuration = Pick<SiteSettings, 'mode' | 'upstream' | 'mail' | 'previewSigningKeys'>;

/** Returns false if the form answers 503 (reference §15.1). In that case the page shows no form. */
export function acceptsForm({ upstream, mail }: Configuration, form: Form): boolean {
  // A subscription needs mail for its confirmation (reference §4.5).
  return upstream.kind !== 'none' && (form.name !== 'newsletter' || mail.kind !== 'none');
}

/** Returns true if agents can preview and execute. Local mode creates its own key for previews. */
function acceptsActions({ mode, upstream, previewSigningKeys }: Configuration): boolean {
  return upstream.kind !== 'none' && (mode === 'local' || previewSigningKeys.length > 0);
}

/** A value, escaped for each format. */
type Replacement = { html: string; markdown: string; text: string };

/** Also matches the mark of a conditional part that has no valid beginning or end. */
const PLACEHOLDER = /\{\{([#/]?\w+)\}\}/g;
const CONTACT_FORM = pages.contact.path;

/** Returns the name of the contractor. If no name is set, returns the words that stand for the contractor. */
export function contractorName(settings: SiteSettings, { frame }: Pick<Words, 'frame'>): string {
  return settings.contractor?.name ?? frame.contractor;
}

/** Returns a text without the conditional parts for other deployments, or for a person who sent another form. */
export function selectParts(markdown: string, settings: SiteSettings, sent?: Form): string {
  const conditions: Readonly<Record<string, boolean>> = {
    local: settings.mode === 'local',
    mcp: settings.mcp === 'on',
    oauth: settings.oauth === 'on',
    no_oauth: settings.oauth !== 'on',
    unconfigured: !acceptsActions(settings),
    operator_contact: settings.operator.contact !== undefined,
    any: sent === undefined,
    ...Object.fromEntries(Object.values(forms).map((form) => [form.name, form === sent])),
  };
  return Object.entries(conditions).reduce((text, [name, isShown]) => selectPart(text, name, isShown), markdown);
}

/** Returns a text with or without the parts `{{#name}}` … `{{/name}}`. The marks go. */
export function selectPart(markdown: string, name: string, isShown: boolean): string {
  // Each mark has a line of its own, also in the first and the last line.
  const [before = '', ...parts] = `\n${markdown}\n`.split(`\n{{#${name}}}\n`);
  const selected = parts.reduce((text, part) => {
    const [own, behind, ...more] = `\n${part}`.split(`\n{{/${name}}}\n`);
    // A part without exactly one end stays in the text. The mark of such a part is no valid placeholder, which stops
    // the start.
    if (own === undefined || behind === undefined || more.length > 0) return `${text}\n{{#${name}}}\n${part}`;
    const shown = isShown ? text + own : text;
    // One blank line at most, and none inside a table or list.
    return `${shown}\n${shown.endsWith('\n') ? behind.replace(/^\n+/, '') : behind}`;
  }, before);
  return selected.slice(1, -1);
}

/** Returns the function that fills in the placeholders of one text. The function throws for an unknown placeholder. */
export function placeholderFiller(
  settings: SiteSettings,
  words: Pick<Words, 'flow' | 'frame' | 'lang'> = defaultWords(),
  lang = words.lang,
): (text: string, as: keyof Replacement) => string {
  const { flow, frame } = words;
  const replacements: Readonly<Record<string, Replacement>> = {
    operator: named(settings.operator.name, lang),
    contractor: named(contractorName(settings, words), lang),
    contact: contact(settings.operator.contact, frame.contact, lang),
    // A picture, or its description in formats without pictures.
    flow: {
      ...plain(flow.description),
      get html() {
        return renderTemplate('flow', { ...flow, lang: words.lang });
      },
    },
    retention_days: plain(String(settings.receiptRetentionDays)),
    confirmation_minutes: plain(String(bounds.confirmationLifetimeMinutes)),
    subscription_days: plain(String(bounds.subscriptionLifetimeDays)),
    submission_days: plain(String(settings.submissionRetentionDays)),
    // These two values also occur in code, where Markdown has no escapes. Neither value needs an escape.
    base_url: { ...plain(settings.baseUrl), markdown: settings.baseUrl },
    confirmation_statement: { ...plain(CONFIRMATION_STATEMENT), markdown: CONFIRMATION_STATEMENT },
    icon_form: { html: icons.form, markdown: '', text: '' },
    icon_house: { html: icons.house, markdown: '', text: '' },
    icon_answer: { html: icons.answer, markdown: '', text: '' },
  };
  return (text, as) =>
    text.replace(PLACEHOLDER, (whole, name: string) => {
      const replacement = Object.hasOwn(replacements, name) ? replacements[name] : undefined;
      if (replacement === undefined) throw new Error(`content/ knows no placeholder ${whole}`);
      return replacement[as];
    });
}

function contact(address: string | undefined, words: string, lang: string): Replacement {
  if (address === undefined) {
    return {
      html: `<a href="${CONTACT_FORM}">${escapeHtml(words)}</a>`,
      markdown: `[${escapeMarkdown(words)}](${CONTACT_FORM})`,
      text: words,
    };
  }
  const html = `<a href="${escapeHtml(contactHref(address))}">${named(address, lang).html}</a>`;
  return { ...plain(address), html };
}

function plain(text: string): Replacement {
  return { html: escapeHtml(text), markdown: escapeMarkdown(text), text };
}

/** Returns a name or an address for each format. A text of the opposite writing direction is isolated. */
function named(text: string, lang: string): Replacement {
  const replacement = { ...plain(text), text: isolated(text, lang) };
  if (!hasOtherDirection(text, lang)) return replacement;
  return { ...replacement, html: `<bdi>${replacement.html}</bdi>` };
}
